import { sql } from 'kysely';
import { foldedUpTo } from '../families/fold.ts';
import type { Family } from '../families/index.ts';
import { rowsMadeOf } from '../families/rows.ts';
import { versionOrder } from '../families/version-order.ts';

import { findApplied, patientsOfRow } from '../privacy/find-deliveries.ts';
import type { TypedColumn } from '../reports/column-kinds.ts';
import type { Db } from '../store/tables.ts';
import { hasId } from './has-id.ts';

/** A receipt, a consent form, and so on; `id`: of a delivery about it where the family has no public key. */
export interface RecordKey {
  family: Family;
  business: string;
  id: string;
}

/** What a delivery said of a record, every value as text. */
export interface Version {
  row: Readonly<Record<string, string | null>>;
  /** When the delivery came; null: it was deleted. */
  received: Date | null;
}

export type Newest = NonNullable<Awaited<ReturnType<typeof readNewest>>>;
export type RecordDetails = NonNullable<Awaited<ReturnType<typeof readRecord>>>;

const common = ['business_id', 'client_id', 'last_event', 'event_time', 'delivery_id'];
export const shownVersions = 200;

/** What a record says now; undefined: there is no such record. */
export async function readNewest(db: Db, key: RecordKey) {
  const columns = await readTypes(db, key.family);
  const from = sql`select * from ${sql.table(key.family.table)} made where ${isKey(key)}`;
  const [newest] = await readVersions(db, columns, from, key.family.identifiedBy !== undefined);
  return newest && { columns, newest };
}

/** What records of one family say now. */
export async function readRows(db: Db, family: Family, business: string, ids: readonly string[]) {
  const { table, identifiedBy, fields } = family;
  const type = identifiedBy && fields[identifiedBy]!.json === 'numeric' ? sql`bigint` : sql`text`;
  const condition = identifiedBy
    ? sql`business_id = ${business} and ${sql.ref(identifiedBy)} = any(${ids}::${type}[])`
    : sql`delivery_id = any(${ids}::uuid[])`;
  const columns = await readTypes(db, family);
  return readVersions(
    db,
    columns,
    sql`select * from ${sql.table(table)} made where ${condition}`,
    identifiedBy !== undefined,
    family,
  );
}

/** The newest version is the first; undefined: there is no such record. */
export async function readRecord(db: Db, families: readonly Family[], key: RecordKey) {
  const found = await readNewest(db, key);
  if (!found) return undefined;
  const { columns, newest } = found;
  const saidBefore = await versionsOf(db, families, key, newest.row);
  const others = await readVersions(
    db,
    columns,
    saidBefore,
    key.family.identifiedBy !== undefined,
    key.family,
  );
  const older = others.filter(({ row }) => row.delivery_id !== newest.row.delivery_id);
  return { columns, versions: [newest, ...older] satisfies [Version, ...Version[]] };
}

/** The documented fields in their order, then those that every family has. */
async function readTypes(db: Db, { table, fields }: Family): Promise<TypedColumn[]> {
  const names = [...Object.keys(fields), 'deleted_at', 'extra'];
  const { rows } = await sql<TypedColumn>`
    select attname as name, format_type(atttypid, null) as type
    from unnest(${names}::text[]) with ordinality as listed (attname, place)
    join pg_attribute using (attname)
    where attrelid = ${table}::regclass
    order by place`.execute(db);
  return rows;
}

/** The fields of a row that its newest delivery did not say, each with the delivery whose value it has, and when that happened. */
export function keptFields({ carried }: Version['row']): Map<string, { delivery: string; at: Date }> {
  const { from = {} } = (carried ? JSON.parse(carried) : {}) as { from?: Record<string, string[]> };
  return new Map(
    Object.entries(from).flatMap(([key, fields]) => {
      const [, year, month, day, hour, minute, second] = /^(\d{4})(..)(..)(..)(..)(..)/.exec(key)!;
      const at = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
      return fields.map((field) => [field, { delivery: key.slice(-36), at }] as const);
    }),
  );
}

async function readVersions(
  db: Db,
  columns: readonly TypedColumn[],
  from: ReturnType<typeof sql>,
  hasRecords: boolean,
  family?: Family,
): Promise<Version[]> {
  const names = [...common, ...(hasRecords ? ['carried'] : []), ...columns.map(({ name }) => name)];
  const texts = names.map((name) => sql`made.${sql.ref(name)}::text as ${sql.ref(name)}`);
  const order = family ? versionOrder(family, 'made').map((value) => `${value} desc`) : ['delivery_id'];
  const { rows } = await sql<Version['row'] & { received: Date | null }>`
    select ${sql.join(texts)}, i.received_at as received
    from (${from}) made left join inbox i on i.id = made.delivery_id
    order by ${sql.raw(order.join(', '))} limit ${shownVersions}`.execute(db);
  return rows.map(({ received, ...row }) => ({ row, received }));
}

/** The condition on a row, `made`, of the family's table. */
function isKey({ family, business, id }: RecordKey) {
  const condition = hasId(family, id) ?? sql`false`;
  return family.identifiedBy ? sql`business_id = ${business} and ${condition}` : condition;
}

/** The query for versions of a record. */
async function versionsOf(db: Db, families: readonly Family[], key: RecordKey, row: Version['row']) {
  const { family, business } = key;
  if (!family.identifiedBy) return sql`select * from ${sql.table(family.table)} made where false`;
  if (family.versions) {
    return foldedHistory(family, sql`select * from ${sql.table(family.versions)} made where ${isKey(key)}`);
  }
  // Deliveries about a part are found as those about the whole.
  const record = family.partOf ? row[`${family.partOf}_id`] : row[family.identifiedBy];
  const about = { family: family.partOf ?? family.name, business_id: business, thing: record ?? '' };
  const ids = await findApplied(db, families, [about]);
  const { query } = rowsMadeOf(family, 'found');
  return foldedHistory(
    family,
    sql`
    with found as materialized (
      select id, event, family, client_id, business_id, event_time, envelope, received_at
      from inbox where id = any(${ids}::uuid[])
    )
    select * from (${sql.raw(query)}) made where ${isKey(key)}`,
  );
}

/** What versions of one record have made of it, one after another. */
function foldedHistory(family: Family, versions: ReturnType<typeof sql>) {
  return sql`
    select made.* from (
      select ${sql.raw(foldedUpTo(family, 'said'))} as folded from (${versions}) said
    ) history cross join lateral jsonb_populate_record(null::${sql.table(family.table)}, folded) made`;
}

/** The columns that say what a version is, and not only which. */
export const changedColumns = (columns: readonly TypedColumn[], older: Version, newer: Version) =>
  columns.filter(({ name }) => older.row[name] !== newer.row[name]);

export async function findPatient(db: Db, key: RecordKey): Promise<string | undefined> {
  const found = await readNewest(db, key);
  return found && patientsOfRow(found.newest.row)[0];
}
