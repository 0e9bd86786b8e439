import { type RawBuilder, sql } from 'kysely';
import type { Family } from '../../families/index.ts';
import { patientsNamedIn, subjectOfBody } from '../../intake/subject-of-body.ts';
import { inPages } from '../../store/in-pages.ts';
import type { Db } from '../../store/tables.ts';
import { idsOf, type Patient, type RecordKey } from '../find-deliveries.ts';

/** With more records than this, looking for each in the bytes takes longer than reading every body. */
const fewRecords = 100;
const perPage = 500;

/** What the bodies in the quarantine are about, in pages. */
export async function* readBodies(
  db: Db,
  families: readonly Family[],
  condition: RawBuilder<unknown> = sql`true`,
) {
  const pages = inPages(
    db,
    (after) => sql<{ id: string; family: string | null; body: Buffer }>`
      select q.id, p.family, q.body from quarantine q left join callback_paths p using (path)
      where q.id > ${after}::uuid and (${condition})
      order by q.id limit ${perPage}`,
  );
  for await (const rows of pages) {
    yield rows.map(({ id, family, body }) => {
      const sentTo = families.find(({ name }) => name === family);
      return { id, ...subjectOfBody(body, families, sentTo), patients: patientsNamedIn(body) };
    });
  }
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
  const mayBeAbout = sql`exists (
    select from unnest(${[...ids, ...records, '\\u']}::text[]) as sought
    where position(convert_to(sought, 'UTF8') in q.body) > 0
  ) or encode(q.body, 'escape') ~* '[0-9]e[+-]?[0-9]'`; // a number with an exponent
  const found: string[] = [];
  for await (const bodies of readBodies(db, families, mayBeAbout)) {
    const nameless = bodies.flatMap(({ patient, thing }) =>
      patient === null && thing !== null ? thing : [],
    );
    const things = nameless.length > 0 ? await findRecords(db, own, nameless) : [];
    for (const body of bodies) {
      if (businessId && body.business !== businessId) continue;
      const isOfRecord = (one: RecordKey) =>
        one.family === body.family && one.business_id === body.business && one.thing === body.thing;
      const isFound =
        body.patients.some((id) => ids.includes(id)) || (body.patient === null && things.some(isOfRecord));
      if (isFound) found.push(body.id);
    }
  }
  return found;
}

/** The patient's own records with one of these ids. */
async function findRecords(db: Db, own: RawBuilder<unknown>, ids: readonly string[]): Promise<RecordKey[]> {
  const { rows } = await sql<RecordKey>`
    select distinct thing_family as family, business_id, thing ${own}
      and hashtextextended(thing, 0) = any(select hashtextextended(sought, 0) from unnest(${ids}::text[]) as sought)
      and thing = any(${ids}::text[])`.execute(db);
  return rows;
}
