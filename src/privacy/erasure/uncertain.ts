import { randomUUID } from 'node:crypto';
import { CompiledQuery, sql } from 'kysely';
import { type Family, other } from '../../families/index.ts';
import { insertQuery } from '../../intake/insert-deliveries.ts';
import { quarantineQuery, type RejectedBody } from '../../intake/quarantine.ts';
import { wordsOf, wordsOfId } from '../../intake/words.ts';
import type { Db } from '../../store/tables.ts';
import { deleteDeliveries } from '../delete-deliveries.ts';
import { idsOf, listedIds, type Patient } from '../find-deliveries.ts';
import { type Actor, logAccess } from '../log/access-log.ts';
import { inStep } from './erasure-lock.ts';
import { forgetDrift } from './forget-drift.ts';
import { withhold } from './withhold.ts';

/*
 * Bodies that contain a patient's id as a word, and not under a key that names a patient: the gate lets them in, an erasure
 * does not erase them, and nobody sees them until a person has decided.
 */

const perPage = 500;

/** Adds the words of bodies that a former version has stored to the index, in pages; each is committed. */
export async function indexWords(db: Db): Promise<void> {
  const sources = {
    inbox: sql`select i.id, convert_to(i.envelope::text, 'UTF8') as body from inbox i where i.family = ${other.name} and`,
    quarantine: sql`select i.id, i.body from quarantine i where`,
  };
  for (const source of Object.values(sources)) {
    for (let last = '00000000-0000-0000-0000-000000000000'; ; ) {
      const { rows } = await sql<{ id: string; body: Buffer }>`
        ${source} i.id > ${last}::uuid and not exists (select from body_words w where w.id = i.id)
        order by i.id limit ${perPage}`.execute(db);
      if (rows.length === 0) break;
      last = rows.at(-1)!.id;
      const read = rows.map(({ id, body }) => ({ id, words: wordsOf(body.toString()) }));
      await sql`
        insert into body_words (id, words)
        select id, word_keys(words) from jsonb_to_recordset(${JSON.stringify(read)}::jsonb) as r(id uuid, words jsonb)
        on conflict do nothing`.execute(db);
    }
  }
}

/** Bodies with an id of the patient as a word: the deliveries by their ids, and the rejected ones. */
export interface UncertainBodies {
  deliveries: string[];
  quarantine: string[];
}

/**
 * Finds bodies that contain an id of the patient as a word.
 *
 * @param listId of the patient's deliveries in the table `erasing`, which are certain
 * @param certain rejected bodies that name the patient
 */
export async function findUncertain(
  db: Db,
  patient: Patient,
  listId: string,
  certain: readonly string[],
): Promise<UncertainBodies> {
  const { businessId = null } = patient;
  const words = idsOf(patient).flatMap(wordsOfId);
  const found: UncertainBodies = { deliveries: [], quarantine: [] };
  for (const one of words) {
    const isFound = sql`w.words @> word_keys(${JSON.stringify(one)}::jsonb)`;
    const isOfBusiness = sql`(${businessId}::text is null or coalesce(i.business_id, '') in ('', ${businessId}))`;
    const deliveries = await sql<{ id: string }>`
      select i.id from body_words w join inbox i using (id)
      where ${isFound} and i.family = ${other.name} and ${isOfBusiness}
        and not exists (select from erasing e where e.id = i.id and e.erasure_id = ${listId}::uuid)
        and i.event_time <= coalesce(
          (select max(until) from erased_words e where e.erasure_id = ${listId}::uuid), 'infinity')`.execute(
      db,
    );
    const rejected = await sql<{ id: string }>`
      select i.id from body_words w join quarantine i using (id)
      where ${isFound} and ${isOfBusiness} and i.id <> all(${certain}::uuid[])`.execute(db);
    found.deliveries.push(...deliveries.rows.map(({ id }) => id));
    found.quarantine.push(...rejected.rows.map(({ id }) => id));
  }
  return { deliveries: [...new Set(found.deliveries)], quarantine: [...new Set(found.quarantine)] };
}

/** Makes what arrives from now on with an id of the patient as a word wait for a person. */
export async function listWordsAsErased(
  tx: Db,
  patient: Patient,
  erasureId: string,
  until: string | null,
): Promise<void> {
  for (const words of idsOf(patient).flatMap(wordsOfId)) {
    await sql`
      insert into erased_words (erasure_id, words, business_id, until, patients)
      values (${erasureId}, word_keys(${JSON.stringify(words)}::jsonb), ${patient.businessId ?? ''},
              greatest(clock_timestamp(), ${until}::timestamptz), '{}')
      on conflict (words, business_id) do update
        set until = greatest(erased_words.until, excluded.until), erasure_id = excluded.erasure_id`.execute(
      tx,
    );
  }
}

/** Lists deliveries, so that no worker applies them and no retention deletes them meanwhile. */
export async function listUncertain(tx: Db, ids: readonly string[], listId: string): Promise<void> {
  await sql`
    insert into erasing (id, erasure_id, family, thing_family, business_id)
    select id, ${listId}::uuid, family, family, business_id from inbox where id = any(${ids}::uuid[])
    on conflict do nothing`.execute(tx);
}

/**
 * Takes the listed deliveries and some rejected bodies out of every table but `uncertain_bodies`.
 *
 * @returns the number of bodies
 */
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
  await forgetDrift(
    tx,
    (id) => sql`exists (select from erasing e where e.id = ${id} and e.erasure_id = ${listId}::uuid)`,
  );
  for await (const ids of listedIds(tx, listId, perPage)) {
    await hide(sql`
      select id, 'inbox', ${erasureId}::uuid, business_id, event, event_time, received_at,
             jsonb_build_object('family', family, 'client_id', client_id, 'envelope', envelope, 'patients', patients)
      from inbox where id = any(${ids}::uuid[])`);
    await deleteDeliveries(tx, own, ids);
  }
  await hide(sql`
    select id, 'quarantine', ${erasureId}::uuid, coalesce(business_id, ''), reason, null, received_at,
           jsonb_build_object('path', path, 'reason', reason, 'errors', errors, 'body', body, 'acknowledged', acknowledged,
                              'corrects', corrects)
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
  const { rows } = await sql<{ erasure_id: string } & UncertainBodies>`
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

/** A body that waits for a person. */
export interface UncertainBody {
  id: string;
  erasure_id: string;
  source: 'inbox' | 'quarantine';
  business_id: string;
  /** The reason of the rejection, where the body was rejected. */
  event: string | null;
  event_time: Date | null;
  received_at: Date;
}

const listedColumns = sql`id, erasure_id, source, business_id, event, event_time, received_at`;

/** The bodies without a decision, oldest first; without their content. */
export async function readUncertain(db: Db, limit: number): Promise<UncertainBody[]> {
  const { rows } = await sql<UncertainBody>`
    select ${listedColumns} from uncertain_bodies where decision is null
    order by received_at, id limit ${limit}`.execute(db);
  return rows;
}

export const decisions = ['erase', 'keep'] as const;
export type Decision = (typeof decisions)[number];

interface Kept extends Pick<UncertainBody, 'source'> {
  /** The callback of a delivery as text, with all digits of its numbers. */
  envelope: string;
  content: { family: string; body: string } & Pick<
    RejectedBody,
    'path' | 'reason' | 'errors' | 'acknowledged' | 'corrects'
  >;
}

const keptColumns = sql`source, content, jsonb_pretty(content->'envelope') as envelope`;

/** The body as text, once the entry in the access log is written; undefined: somebody has decided. */
export async function readUncertainBody(
  db: Db,
  id: string,
  erasureId: string,
): Promise<(UncertainBody & { body: string }) | undefined> {
  const { rows } = await sql<UncertainBody & Kept>`
    select ${listedColumns}, ${keptColumns} from uncertain_bodies
    where id = ${id}::uuid and erasure_id = ${erasureId}::uuid and decision is null`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const { content, envelope, ...listed } = row;
  return { ...listed, body: envelope ?? String(bytesOf(content)) };
}

const bytesOf = ({ body }: Kept['content']) => Buffer.from(body.slice(2), 'hex');

/**
 * Erases a body: it is withheld like what is certain; or stores it again, unless it names a patient who was erased meanwhile.
 *
 * @param options `keepMs`: how long erased data is withheld
 * @returns false where somebody has decided already
 */
export async function decide(
  db: Db,
  families: readonly Family[],
  { id, erasureId, decision }: { id: string; erasureId: string; decision: Decision },
  { actor, keepMs }: { actor: Actor; keepMs: number },
): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    const { rows } = await sql<Kept & { patients: Buffer[] | null }>`
      select ${keptColumns}, (select patients from erased_words e where e.erasure_id = u.erasure_id limit 1) as patients
      from uncertain_bodies u
      where id = ${id}::uuid and erasure_id = ${erasureId}::uuid and decision is null for update`.execute(tx);
    const [row] = rows;
    if (!row) return false;
    if (decision === 'erase') {
      const body = {
        source: row.source,
        content: sql`u.content`,
        receivedAt: sql`u.received_at`,
        from: sql`uncertain_bodies u`,
        where: sql`u.id = ${id}::uuid and u.erasure_id = ${erasureId}::uuid`,
      };
      const withholding = { erasureId, patients: row.patients ?? [], keepMs };
      await withhold(tx, body, withholding);
      await sql`
        update erasures e set destroy_after = due.last, destroyed_at = null
        from (select max(destroy_at) as last from withheld.records where erasure_id = ${erasureId}::uuid) due
        where e.id = ${erasureId}::uuid and due.last is not null`.execute(tx);
    }
    await sql`
      update uncertain_bodies set content = null, decision = ${decision}, decided_at = now(), decided_by = ${actor.id}
      where id = ${id}::uuid and erasure_id = ${erasureId}::uuid`.execute(tx);
    if (decision === 'keep') await storeAgain(tx, families, id, row);
    await logAccess(tx, { actor, action: decision, filter: { body: id, erasure: erasureId }, rows: 1 });
    return true;
  });
}

/** It passes the gate as if it came now. */
async function storeAgain(
  tx: Db,
  families: readonly Family[],
  id: string,
  { source, envelope, content }: Kept,
): Promise<void> {
  if (source === 'inbox') {
    const body = Buffer.from(envelope);
    const { text, values } = insertQuery([{ id, family: content.family, body }], { timeoutMs: 0 });
    await tx.executeQuery(CompiledQuery.raw(text, values));
    return;
  }
  const { rows } = await sql<{ family: string }>`
    select family from callback_paths where path = ${content.path}`.execute(tx);
  const family = families.find(({ name }) => name === rows[0]?.family);
  const { text, values } = quarantineQuery([{ ...content, family, body: bytesOf(content) }], families);
  await tx.executeQuery(CompiledQuery.raw(text, values));
}
