import { sql } from 'kysely';
import { type Family, readField } from '../families/index.ts';
import { equal, literal, quoted, rowsMadeOf, versionOrder } from '../families/sql.ts';
import type { Db } from '../store/tables.ts';
import { runText } from '../store/transactions.ts';

/**
 * Deletes deliveries ($1, ids) with everything that is derived from them. Where the newest version of a record goes and an
 * older one stays, that is its row again, if the family has a table of versions.
 *
 * Rows are locked in the order in which they are applied: families in the order of the list, each in the order of its keys.
 * The caller locks the deliveries themselves.
 *
 * @param db a transaction, with the settings `planForAnySize` where the tables may be large
 * @returns the number of rows deleted by table, without tables of which none was; `deliveries` for those of `inbox`
 */
export async function deleteDeliveries(
  db: Db,
  families: readonly Family[],
  ids: readonly string[],
): Promise<Record<string, number>> {
  const deleted: Record<string, number> = {};
  for (const family of families) {
    const rows = await runText<{ business_id: string; thing: string }>(db, rowsStatement(family), [ids]);
    if (rows.length > 0) deleted[family.table] = rows.length;
    if (!family.versions) continue;
    // A statement of its own: it sees versions that another worker has superseded while the rows were being locked.
    const versions = await runText(db, versionsStatement(family), [ids]);
    if (versions.length > 0) deleted[family.versions] = versions.length;
    const keys = [rows.map(({ business_id }) => business_id), rows.map(({ thing }) => thing)];
    if (rows.length > 0) await runText(db, newestAgainStatement(family), keys);
  }
  const { numAffectedRows } = await sql`delete from inbox where id = any(${ids}::uuid[])`.execute(db);
  return { ...deleted, deliveries: Number(numAffectedRows) };
}

/**
 * The records of the deliveries, to find their rows by the primary key. A delivery that was never applied may have no valid
 * key, and has no row.
 */
function keys({ name, fields, identifiedBy }: Family): string {
  const key = identifiedBy && fields[identifiedBy]!;
  const thing = key && `(${readField(fields, identifiedBy, 'records.envelope')})::${key.json}`;
  return `records as materialized (
  select d.id, d.business_id, d.envelope from inbox d
  where d.id = any($1::uuid[]) and d.family = ${literal(name)} and (
    exists (select from applied_deliveries a where a.id = d.id)
    or exists (select from failed_deliveries f where f.id = d.id and f.applied_at is not null))
), keys as materialized (
  select records.id as delivery_id${thing ? `, business_id, ${key.column(thing)} as ${quoted(identifiedBy)}` : ''}
  from records
)`;
}

const keyColumns = ({ identifiedBy }: Family) => (identifiedBy ? ['business_id', identifiedBy] : []);

function rowsStatement(family: Family): string {
  const key = keyColumns(family);
  const found = [...key, 'delivery_id'];
  const columns = (row: string) => found.map((column) => `${row}.${quoted(column)}`).join(', ');
  const table = quoted(family.table);
  return `
with ${keys(family)}, locked as materialized (
  select ${columns('existing')} from keys join ${table} existing on ${equal('existing', 'keys', found)}
  order by ${columns('existing')} for update of existing
)
delete from ${table} existing using locked where ${equal('existing', 'locked', found)}
returning ${key.length > 0 ? `existing.business_id, existing.${quoted(key[1]!)}::text` : `'' as business_id, ''`} as thing`;
}

function versionsStatement(family: Family): string {
  const version = [...keyColumns(family), 'delivery_id'];
  return `
with ${keys(family)}
delete from ${quoted(family.versions!)} superseded using keys where ${equal('superseded', 'keys', version)} returning 1`;
}

/** Makes the newest of the remaining versions of records ($1, businesses; $2, keys) their rows. */
function newestAgainStatement(family: Family): string {
  const { fields, identifiedBy } = family;
  const field = fields[identifiedBy!]!;
  const versions = quoted(family.versions!);
  const version = [...keyColumns(family), 'delivery_id'];
  const key = keyColumns(family).map((column) => `v.${quoted(column)}`);
  const columns = rowsMadeOf(family, 'inbox').columns.map(quoted);
  const isOfRecord = `v.business_id = k.business_id and v.${quoted(identifiedBy!)} = ${field.column(`k.thing::${field.json}`)}`;
  return `
with newest as materialized (
  select distinct on (${key.join(', ')}) ${[...key, 'v.delivery_id'].join(', ')}
  from unnest($1::text[], $2::text[]) as k(business_id, thing) join ${versions} v on ${isOfRecord}
  order by ${[...key, ...versionOrder(family, 'v').map((value) => `${value} desc`)].join(', ')}
), moved as (
  delete from ${versions} v using newest where ${equal('v', 'newest', version)}
  returning ${columns.map((column) => `v.${column}`).join(', ')}
)
insert into ${quoted(family.table)} (${columns.join(', ')}) select ${columns.join(', ')} from moved`;
}
