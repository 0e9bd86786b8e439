import { type Kysely, type RawBuilder, sql } from 'kysely';
import { type Family, patientFields } from '../families/index.ts';
import type { Tables } from '../store/tables.ts';

/** A patient of one business or, without that, of every business. */
export interface Patient {
  id: string;
  businessId?: string | undefined;
}

/** A receipt, a consent form, an admission with its parts, and so on. */
export interface Thing {
  /** See the function thing_family. */
  family: string;
  business_id: string;
  /** Its id. */
  thing: string;
}

export interface PatientDeliveries {
  ids: string[];
  /** What the deliveries are about. */
  things: Thing[];
  /** Those of them about which no delivery names another patient. */
  own: Thing[];
}

interface Row extends Thing {
  id: string;
  patient: string | null;
}

/** Whether a row of inbox, `i`, names a patient; found by its index. */
export const isAbout = (patient: RawBuilder<unknown>) =>
  sql`patient_key(patient_of(i.envelope)) = patient_key(${patient}) and patient_of(i.envelope) = ${patient}`;

/** The patients that the data of a callback, or a row of a family's table, names. */
export function patientsIn(values: object): string[] {
  const named = values as Record<string, unknown>;
  return patientFields.flatMap((name) => (named[name] ? [String(named[name])] : []));
}

/**
 * Finds a patient's deliveries: those that name the patient, and those that name nobody and are about a thing of the
 * patient, unless another delivery about it names somebody else.
 */
export async function findDeliveries(
  db: Kysely<Tables>,
  families: readonly Family[],
  { id, businessId }: Patient,
): Promise<PatientDeliveries> {
  const business = businessId ? sql`and i.business_id = ${businessId}` : sql``;
  const { rows: named } = await sql<Row>`
    select ${columns} from inbox i where ${isAbout(sql`${id}::text`)} ${business}`.execute(db);
  const things = distinctThings(named);
  const about: Row[] = [];
  for (const family of families) about.push(...(await readAbout(db, family, things)));
  const others = about.filter(({ patient }) => patient !== null && patient !== id);
  const shared = new Set(others.map(keyOf));
  const own = things.filter((thing) => !shared.has(keyOf(thing)));
  const nameless = about.filter((row) => row.patient === null && !shared.has(keyOf(row)));
  return { ids: [...new Set([...named, ...nameless].map((row) => row.id))], things, own };
}

/** The ids of the applied deliveries about things. */
export async function findApplied(
  db: Kysely<Tables>,
  families: readonly Family[],
  things: readonly Thing[],
): Promise<string[]> {
  const ids: string[] = [];
  for (const family of families) {
    const about = deliveriesAbout(family, things);
    if (!about) continue;
    const { rows } =
      await sql<Row>`select id from (${about}) about join applied_deliveries using (id)`.execute(db);
    ids.push(...rows.map(({ id }) => id));
  }
  return [...new Set(ids)];
}

async function readAbout(db: Kysely<Tables>, family: Family, things: readonly Thing[]): Promise<Row[]> {
  const about = deliveriesAbout(family, things);
  return about ? (await sql<Row>`${about}`.execute(db)).rows : [];
}

/**
 * The query for the deliveries about things of one family, and about parts of these. Those of a family with versions are
 * found by its tables, where they are applied; the others by the index on the thing.
 */
function deliveriesAbout(
  { name, table, versions, identifiedBy, fields }: Family,
  things: readonly Thing[],
): RawBuilder<unknown> | undefined {
  const wanted = things.filter((thing) => thing.family === name);
  if (!identifiedBy || wanted.length === 0) return undefined;
  const list = sql`unnest(${wanted.map(({ business_id }) => business_id)}::text[],
    ${wanted.map(({ thing }) => thing)}::text[]) as wanted (business, thing)`;
  if (!versions) {
    return sql`select ${columns} from ${list}
      join inbox i on ${isIndexed} and i.business_id = business and thing_of(i.family, i.envelope) = thing
        and thing_family(i.family) = ${name}`;
  }
  const type = fields[identifiedBy]!.json === 'numeric' ? sql`bigint` : sql`text`;
  const key = sql`business_id = business and ${sql.ref(identifiedBy)} = thing::${type}`;
  const unapplied = ['pending_deliveries', 'failed_deliveries'].map(
    (status) => sql`select ${columns} from ${sql.table(status)} s join inbox i using (id)
      where s.family = ${name}
        and (i.business_id, thing_of(i.family, i.envelope)) in (select business, thing from ${list})`,
  );
  return sql`
    select ${columns} from ${list}
    cross join lateral (
      select delivery_id from ${sql.table(table)} where ${key}
      union all
      select delivery_id from ${sql.table(versions)} where ${key}
    ) made
    join inbox i on i.id = made.delivery_id
    union
    ${sql.join(unapplied, sql` union `)}`;
}

/** The condition of the index inbox_thing. */
const isIndexed = sql`i.family not in (
  'receipt', 'appointment', 'review_request', 'payment_request', 'practice_change', 'notice', 'other')`;

/** Those of Row. */
const columns = sql`i.id, thing_family(i.family) as family, i.business_id,
  thing_of(i.family, i.envelope) as thing, patient_of(i.envelope) as patient`;

const keyOf = ({ family, business_id, thing }: Thing) => JSON.stringify([family, business_id, thing]);

function distinctThings(rows: readonly Row[]): Thing[] {
  const things = rows.filter(({ thing }) => thing !== null);
  return [...new Map(things.map((row) => [keyOf(row), row])).values()];
}
