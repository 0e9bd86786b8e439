import { type Kysely, sql } from 'kysely';
import type { Family } from '../families/index.ts';
import { patientsNamedIn, subjectOfBody } from '../intake/subject-of-body.ts';
import type { Tables } from '../store/tables.ts';
import type { Patient, Thing } from './find-deliveries.ts';
import { type Withholding, withhold } from './withhold.ts';

/** A shorter id could be any other number of a body. */
const distinctiveLength = 10;

/** The ids of the bodies in the quarantine that name a patient, or that name nobody and are about the patient's things. */
export async function findInQuarantine(
  db: Kysely<Tables>,
  families: readonly Family[],
  { id, businessId }: Patient,
  own: readonly Thing[],
): Promise<string[]> {
  const sought = [id, ...own.map(({ thing }) => thing), '\\u'];
  const { rows } = await sql<{ id: string; family: string | null; body: Buffer }>`
    select q.id, p.family, q.body from quarantine q left join callback_paths p using (path)
    where exists (
      select from unnest(${sought}::text[]) as sought where position(convert_to(sought, 'UTF8') in q.body) > 0
    )`.execute(db);
  const isWord = new RegExp(`(?<![\\w-])${id.replace(/[^\w]/g, '\\$&')}(?![\\w-])`);
  const found = rows.filter(({ family, body }) => {
    const sentTo = families.find(({ name }) => name === family);
    const subject = subjectOfBody(body, families, sentTo);
    const { business, patient } = subject;
    if (businessId && business !== businessId) return false;
    if (patient === id || patientsNamedIn(body).includes(id)) return true;
    const isOfThing = (one: Thing) =>
      one.family === subject.family && one.business_id === business && one.thing === subject.thing;
    if (patient === null && own.some(isOfThing)) return true;
    return id.length >= distinctiveLength && isWord.test(body.toString());
  });
  return found.map((row) => row.id);
}

/** @returns the number of bodies */
export async function eraseQuarantined(
  tx: Kysely<Tables>,
  ids: readonly string[],
  withholding: Withholding,
): Promise<number> {
  if (ids.length === 0) return 0;
  const bodies = sql`quarantine q where q.id = any(${ids}::uuid[])`;
  await withhold(tx, 'quarantine', sql`to_jsonb(q)`, sql`q.received_at`, bodies, withholding);
  const { numAffectedRows } = await sql`delete from quarantine where id = any(${ids}::uuid[])`.execute(tx);
  return Number(numAffectedRows);
}
