import { type RawBuilder, sql } from 'kysely';
import { type Family, patientFields, patientsIn } from '../families/index.ts';
import { inPages } from '../store/in-pages.ts';
import type { Db } from '../store/tables.ts';

/** A patient of one business or, without that, of every business. */
export interface Patient {
  id: string;
  businessId?: string | undefined;
  /** Other ids of the same patient, as a person has named them. */
  linked?: readonly string[];
}

/** A receipt, an admission with its parts, and so on: see the functions thing_family and thing_of. */
export interface RecordKey {
  family: string;
  business_id: string;
  thing: string;
}

/** The patients that a row of a family's table names; its nested columns are text. */
export function patientsOfRow(row: Record<string, unknown>): string[] {
  const main = patientFields.flatMap((name) => (row[name] ? [String(row[name])] : []));
  if (main.length > 0) return main;
  const { patient } = row;
  return patientsIn({ ...row, patient: typeof patient === 'string' ? JSON.parse(patient) : patient });
}

export const idsOf = ({ id, linked = [] }: Patient): string[] => [id, ...linked];

export const trimmed = ({ id, businessId, linked = [] }: Patient): Patient => ({
  id: id.trim(),
  businessId,
  linked: linked.map((one) => one.trim()),
});

/** The conditions on a row of inbox, `i`, that names one of some patients, each with an index of its own. */
const conditions = (ids: RawBuilder<unknown>) => [
  sql`patient_key(patient_of(i.envelope)) = any(array(select patient_key(named) from unnest(${ids}) as named))
    and patient_of(i.envelope) = any(${ids})`,
  sql`i.patients <> '{}' and i.patients && ${ids}`,
  // Stored by a former version.
  sql`i.patients = '{}' and patients_beyond(i.envelope) && ${ids}`,
];

/** Whether a row of inbox, `i`, names a patient with one of the patientFields; found by its index. */
export const isAbout = (patient: RawBuilder<unknown>) =>
  sql`patient_key(patient_of(i.envelope)) = patient_key(${patient}) and patient_of(i.envelope) = ${patient}`;

/** Whether a delivery names a patient, with any key. */
export const isNamed = (patient: RawBuilder<unknown>) =>
  sql`(${sql.join(
    conditions(sql`array[${patient}]`).map(
      (condition) => sql`exists (select from inbox i where ${condition})`,
    ),
    sql` or `,
  )})`;

/** Whether a row of inbox, `i`, names this patient, with any key, in the patient's business. */
export const names = (patient: Patient) => {
  const ids = sql`${idsOf(patient)}::text[]`;
  const found = conditions(ids).map((condition) => sql`select i.id from inbox i where ${condition}`);
  const { businessId } = patient;
  return sql`i.id in (${sql.join(found, sql` union all `)})
    ${businessId ? sql`and i.business_id = ${businessId}` : sql``}`;
};

/** An index on several ids of a row is read with a bitmap, which the settings `planForAnySize` avoid. */
export const allowBitmaps = (tx: Db) => sql`set local enable_bitmapscan = on`.execute(tx);

/**
 * Finds a patient's deliveries and lists them in the table `erasing`: those that name the patient, and those that name
 * nobody and are about a record of the patient, unless another delivery about it names somebody else.
 *
 * @param tx a transaction, with the settings `planForAnySize` where the tables may be large
 * @param listId under which they are listed: the id of an erasure, or another that nobody uses
 * @param until a condition on those that name the patient
 */
export async function findDeliveries(
  tx: Db,
  families: readonly Family[],
  patient: Patient,
  listId: string,
  until: RawBuilder<unknown> = sql`true`,
): Promise<void> {
  await allowBitmaps(tx);
  await sql`
    insert into erasing (id, erasure_id, family, thing_family, business_id, thing)
    select ${listed(listId)} from (select ${columns} from inbox i where ${names(patient)} and ${until}) found
    on conflict do nothing`.execute(tx);
  await findMoreAbout(tx, families, patient, listId);
}

/** Lists the other deliveries about the records of listed ones, and marks the records that are not the patient's alone. */
export async function findMoreAbout(tx: Db, families: readonly Family[], patient: Patient, listId: string) {
  const ids = sql`${idsOf(patient)}::text[]`;
  const { rows } = await sql<{ name: string }>`
    select distinct thing_family as name from erasing
    where erasure_id = ${listId}::uuid and thing is not null`.execute(tx);
  const listedFamilies = new Set(rows.map(({ name }) => name));
  for (const family of families.filter(({ name }) => listedFamilies.has(name))) {
    const wanted = sql`(
      select distinct business_id, thing from erasing
      where erasure_id = ${listId}::uuid and thing_family = ${family.name} and thing is not null
    ) as wanted (business, thing)`;
    const applied = appliedAbout(family, wanted);
    if (!applied) continue;
    const isListed = (business: RawBuilder<unknown>, thing: RawBuilder<unknown>) => sql`
      select from erasing e where e.erasure_id = ${listId}::uuid and e.thing_family = ${family.name}
        and hashtextextended(e.thing, 0) = hashtextextended(${thing}, 0)
        and e.business_id = ${business} and e.thing = ${thing}`;
    const unapplied = ['pending_deliveries', 'failed_deliveries'].map(
      (status) => sql`
        union select ${columns} from ${sql.table(status)} s join inbox i using (id) where s.family = ${family.name}
          and exists (${isListed(sql`i.business_id`, sql`thing_of(i.family, i.envelope)`)})`,
    );
    const about = family.versions ? sql`${applied} ${sql.join(unapplied, sql` `)}` : applied;
    const isShared = sql`exists (${isListed(sql`a.business_id`, sql`a.thing`)} and e.is_shared)`;
    await sql`
      with about as materialized (${about}), shared as materialized (
        select distinct business_id, thing from about where patients <> '{}' and not patients && ${ids}
      ), marked as (
        update erasing e set is_shared = true from shared s
        where e.erasure_id = ${listId}::uuid and e.thing_family = ${family.name} and e.business_id = s.business_id
          and e.thing = s.thing and hashtextextended(e.thing, 0) = hashtextextended(s.thing, 0)
      )
      insert into erasing (id, erasure_id, family, thing_family, business_id, thing)
      select ${listed(listId)} from about a
      where patients && ${ids}
         or patients = '{}' and not ${isShared} and (business_id, thing) not in (select business_id, thing from shared)
      on conflict do nothing`.execute(tx);
  }
}

/** The ids of the listed deliveries in the order of their ids, which is that of their event times, in parts. */
export async function* listedIds(
  tx: Db,
  listId: string,
  size: number,
  condition: RawBuilder<unknown> = sql`true`,
): AsyncGenerator<string[]> {
  const pages = inPages(
    tx,
    (after) => sql<{ id: string }>`
      select id from erasing where id > ${after}::uuid and erasure_id = ${listId}::uuid and ${condition}
      order by id limit ${size}`,
  );
  for await (const rows of pages) yield rows.map(({ id }) => id);
}

/** The ids of the applied deliveries about records. */
export async function findApplied(db: Db, families: readonly Family[], records: readonly RecordKey[]) {
  const ids = new Set<string>();
  for (const family of families) {
    const wanted = records.filter((record) => record.family === family.name);
    if (wanted.length === 0) continue;
    const list = sql`unnest(${wanted.map(({ business_id }) => business_id)}::text[],
      ${wanted.map(({ thing }) => thing)}::text[]) as wanted (business, thing)`;
    const about = appliedAbout(family, list);
    if (!about) continue;
    const { rows } = await sql<{ id: string }>`
      select about.id from (${about}) about join applied_deliveries using (id)`.execute(db);
    for (const { id } of rows) ids.add(id);
  }
  return [...ids];
}

/**
 * The query for the applied deliveries about records of one family, and about parts of these. Those of a family with versions
 * are found by its tables; the others, and what is not applied of them, by the index on the record.
 *
 * @param list the records, as `wanted (business, thing)`
 */
function appliedAbout({ name, table, versions, identifiedBy, fields }: Family, list: RawBuilder<unknown>) {
  if (!identifiedBy) return undefined;
  if (!versions) {
    return sql`select ${columns} from ${list}
      join inbox i on ${isIndexed} and i.business_id = wanted.business and thing_of(i.family, i.envelope) = wanted.thing
        and thing_family(i.family) = ${name}`;
  }
  const type = fields[identifiedBy]!.json === 'numeric' ? sql`bigint` : sql`text`;
  const key = sql`t.business_id = wanted.business and ${sql.ref(`t.${identifiedBy}`)} = wanted.thing::${type}`;
  return sql`
    select ${columns} from ${list}
    cross join lateral (
      select t.delivery_id from ${sql.table(table)} t where ${key}
      union all
      select t.delivery_id from ${sql.table(versions)} t where ${key}
    ) made
    join inbox i on i.id = made.delivery_id`;
}

const isIndexed = sql`i.family not in (
  'receipt', 'appointment', 'review_request', 'payment_request', 'practice_change', 'notice', 'other')`;

const columns = sql`i.id, i.family, thing_family(i.family) as thing_family, i.business_id,
  thing_of(i.family, i.envelope) as thing, patients_of(i.envelope, i.patients) as patients`;

const listed = (listId: string) => sql`id, ${listId}::uuid, family, thing_family, business_id, thing`;
