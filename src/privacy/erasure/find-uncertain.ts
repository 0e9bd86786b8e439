import { randomUUID } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { type Family, other } from '../../families/index.ts';
import { wordsOf, wordsOfId } from '../../intake/words.ts';
import { inPages } from '../../store/in-pages.ts';
import type { Db } from '../../store/tables.ts';
import { deleteDeliveries } from '../delete-deliveries.ts';
import { idsOf, listedIds, type Patient } from '../find-deliveries.ts';
import { forgetDrift, isListedIn } from './erase-rows.ts';
import { inStep } from './erasure-lock.ts';

/*
 * Bodies that contain a patient's id as a word, and not under a key that names a patient: the gate lets them in, an erasure
 * does not erase them, and nobody sees them until a person has decided.
 */

const perPage = 500;

/** Adds the words of bodies that a former version has stored to the index, in pages; each is committed. */
export async function indexWords(db: Db): Promise<void> {
  const sources = [
    sql`select i.id, convert_to(i.envelope::text, 'UTF8') as body from inbox i where i.family = ${other.name} and`,
    sql`select i.id, i.body from quarantine i where`,
  ];
  for (const source of sources) {
    const pages = inPages(
      db,
      (after) => sql<{ id: string; body: Buffer }>`
        ${source} i.id > ${after}::uuid and not exists (select from body_words w where w.id = i.id)
        order by i.id limit ${perPage}`,
    );
    for await (const rows of pages) {
      const read = rows.map(({ id, body }) => ({ id, words: wordsOf(body.toString()) }));
      await sql`
        insert into body_words (id, words)
        select id, word_keys(words) from jsonb_to_recordset(${JSON.stringify(read)}::jsonb) as r(id uuid, words jsonb)
        on conflict do nothing`.execute(db);
    }
  }
}

/**
 * Finds bodies that contain an id of the patient as a word: the ids of deliveries, and of rejected bodies.
 *
 * @param listId of the patient's deliveries in the table `erasing`, which are certain
 * @param certain rejected bodies that name the patient
 */
export async function findUncertain(db: Db, patient: Patient, listId: string, certain: readonly string[]) {
  const businessId = patient.businessId ?? null;
  const isOfBusiness = sql`(${businessId}::text is null or coalesce(i.business_id, '') in ('', ${businessId}))`;
  const found = async (table: 'inbox' | 'quarantine', isWanted: RawBuilder<unknown>) => {
    const ids = new Set<string>();
    for (const words of idsOf(patient).flatMap(wordsOfId)) {
      const { rows } = await sql<{ id: string }>`
        select i.id from body_words w join ${sql.table(table)} i using (id)
        where w.words @> word_keys(${JSON.stringify(words)}::jsonb)
          and ${isOfBusiness} and ${isWanted}`.execute(db);
      for (const { id } of rows) ids.add(id);
    }
    return [...ids];
  };
  const isDelivery = sql`i.family = ${other.name} and not ${isListedIn(listId)(sql`i.id`)} and i.event_time <= coalesce(
    (select max(until) from erased_words e where e.erasure_id = ${listId}::uuid), 'infinity')`;
  return {
    deliveries: await found('inbox', isDelivery),
    quarantine: await found('quarantine', sql`i.id <> all(${certain}::uuid[])`),
  };
}

/** Makes what arrives from now on with an id of the patient as a word wait for a person. */
export async function listWordsAsErased(tx: Db, patient: Patient, erasureId: string, until: string | null) {
  for (const words of idsOf(patient).flatMap(wordsOfId)) {
    await sql`
      insert into erased_words (erasure_id, words, business_id, until, patients)
      values (${erasureId}, word_keys(${JSON.stringify(words)}::jsonb), ${patient.businessId ?? ''},
              greatest(clock_timestamp(), ${until}::timestamptz), '{}')
      on conflict (words, business_id) do update
        set until = greatest(erased_words.until, excluded.until),
            erasure_id = excluded.erasure_id`.execute(tx);
  }
}

/** Lists deliveries, so that no worker applies them and no retention deletes them meanwhile. */
export async function listUncertain(tx: Db, ids: readonly string[], listId: string): Promise<void> {
  await sql`
    insert into erasing (id, erasure_id, family, thing_family, business_id)
    select id, ${listId}::uuid, family, family, business_id from inbox where id = any(${ids}::uuid[])
    on conflict do nothing`.execute(tx);
}

/** Moves the listed deliveries and some rejected bodies to the table `uncertain_bodies`. @returns the number of bodies */
export async function hideUncertain(
  tx: Db,
  families: readonly Family[],
  { erasureId, listId, quarantine }: { erasureId: string; listId: string; quarantine: readonly string[] },
): Promise<number> {
  let hidden = 0;
  const hide = async (from: ReturnType<typeof sql>) => {
    const { numAffectedRows } = await sql`
      insert into uncertain_bodies (id, source, erasure_id, business_id, event, event_time, received_at, content)
      ${from} on conflict (id, erasure_id) do nothing`.execute(tx);
    hidden += Number(numAffectedRows);
  };
  const own = families.filter(({ name }) => name === other.name);
  await forgetDrift(tx, isListedIn(listId));
  for await (const ids of listedIds(tx, listId, perPage)) {
    await hide(sql`
      select id, 'inbox', ${erasureId}::uuid, business_id, event, event_time, received_at,
             jsonb_build_object('family', family, 'client_id', client_id, 'envelope', envelope, 'patients', patients)
      from inbox where id = any(${ids}::uuid[])`);
    await deleteDeliveries(tx, own, ids, 'erased');
  }
  await hide(sql`
    select id, 'quarantine', ${erasureId}::uuid, coalesce(business_id, ''), reason, null, received_at,
           jsonb_build_object('path', path, 'reason', reason, 'errors', errors, 'body', body, 'acknowledged', acknowledged,
                              'corrects', corrects, 'deliveryId', delivery_id)
    from quarantine where id = any(${quarantine}::uuid[])`);
  await sql`delete from quarantine where id = any(${quarantine}::uuid[])`.execute(tx);
  return hidden;
}

/** Hides what a backup brought back with an erased id as a word, unless a person has decided to keep it. */
export async function hideErasedWords(db: Db, families: readonly Family[]): Promise<void> {
  await indexWords(db);
  const isOfErasure = sql`
    (e.business_id = '' or coalesce(i.business_id, '') in ('', e.business_id)) and not exists (
      select from uncertain_bodies u where u.id = i.id and u.erasure_id = e.erasure_id and u.decision = 'keep')`;
  const { rows } = await sql<{ erasure_id: string; deliveries: string[]; quarantine: string[] }>`
    select e.erasure_id,
           array(select i.id from body_words w join inbox i using (id)
                 where w.words @> e.words and i.event_time <= e.until and ${isOfErasure}) as deliveries,
           array(select i.id from body_words w join quarantine i using (id)
                 where w.words @> e.words and ${isOfErasure}) as quarantine
    from erased_words e`.execute(db);
  for (const { erasure_id: erasureId, deliveries, quarantine } of rows) {
    const listId = randomUUID();
    await inStep(db, async (tx) => {
      await listUncertain(tx, deliveries, listId);
      await hideUncertain(tx, families, { erasureId, listId, quarantine });
      await sql`delete from erasing where erasure_id = ${listId}::uuid`.execute(tx);
    });
  }
}
