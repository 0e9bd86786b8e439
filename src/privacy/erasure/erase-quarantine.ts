import { sql } from 'kysely';
import type { Family } from '../../families/index.ts';
import { patientsNamedIn, subjectOfBody } from '../../intake/subject-of-body.ts';
import { wordsOfId } from '../../intake/words.ts';
import type { Db } from '../../store/tables.ts';
import { idsOf, type Patient, type RecordKey } from '../find-deliveries.ts';
import { type Withholding, withhold } from './withhold.ts';

/** With more records than this, looking for each in the bytes takes longer than reading every body. */
const fewRecords = 100;
const perPage = 500;

interface Body {
  id: string;
  family: string | null;
  body: Buffer;
}

/**
 * The ids of the bodies in the quarantine that name a patient, or that name nobody and are about the patient's records.
 *
 * @param listId of the patient's deliveries in the table `erasing`
 */
export async function findInQuarantine(
  db: Db,
  families: readonly Family[],
  patient: Patient,
  listId: string,
): Promise<string[]> {
  const { businessId } = patient;
  const ids = idsOf(patient);
  const own = sql`from erasing where erasure_id = ${listId}::uuid and not is_shared and thing is not null`;
  const few = await sql<{ thing: string }>`
    select distinct thing ${own} limit ${fewRecords + 1}`.execute(db);
  const records = few.rows.length > fewRecords ? [''] : few.rows.map(({ thing }) => thing);
  const sought = [...ids, ...records, '\\u'];
  const words = ids.flatMap(wordsOfId).map((one) => JSON.stringify(one));
  const bodies: string[] = [];
  for (let last = '00000000-0000-0000-0000-000000000000'; ; ) {
    const { rows } = await sql<Body>`
      select q.id, p.family, q.body from quarantine q left join callback_paths p using (path)
      where q.id > ${last}::uuid and exists (
        select from unnest(${sought}::text[]) as sought where position(convert_to(sought, 'UTF8') in q.body) > 0
        union all
        -- A number may have an exponent.
        select from body_words w join unnest(${words}::jsonb[]) as one on w.words @> word_keys(one) where w.id = q.id
      )
      order by q.id limit ${perPage}`.execute(db);
    if (rows.length === 0) return bodies;
    last = rows.at(-1)!.id;
    const read = rows.map(({ id: bodyId, family, body }) => {
      const sentTo = families.find(({ name }) => name === family);
      return { bodyId, body, subject: subjectOfBody(body, families, sentTo) };
    });
    const nameless = read.flatMap(({ subject: { patient, thing } }) =>
      patient === null && thing !== null ? [thing] : [],
    );
    const found =
      nameless.length === 0
        ? []
        : (
            await sql<RecordKey>`
              select distinct thing_family as family, business_id, thing ${own}
                and hashtextextended(thing, 0) = any(
                  select hashtextextended(sought, 0) from unnest(${nameless}::text[]) as sought)
                and thing = any(${nameless}::text[])`.execute(db)
          ).rows;
    for (const { bodyId, body, subject } of read) {
      const { business } = subject;
      if (businessId && business !== businessId) continue;
      const isOfRecord = (one: RecordKey) =>
        one.family === subject.family && one.business_id === business && one.thing === subject.thing;
      const isFound =
        patientsNamedIn(body).some((id) => ids.includes(id)) ||
        (subject.patient === null && found.some(isOfRecord));
      if (isFound) bodies.push(bodyId);
    }
  }
}

/** @returns the number of bodies */
export async function eraseQuarantined(
  tx: Db,
  ids: readonly string[],
  withholding: Withholding,
): Promise<number> {
  if (ids.length === 0) return 0;
  const where = sql`q.id = any(${ids}::uuid[])`;
  const bodies = {
    content: sql`to_jsonb(q)`,
    receivedAt: sql`q.received_at`,
    from: sql`quarantine q`,
    where,
  };
  await withhold(tx, { source: 'quarantine', ...bodies }, withholding);
  const { numAffectedRows } = await sql`delete from quarantine q where ${where}`.execute(tx);
  return Number(numAffectedRows);
}
