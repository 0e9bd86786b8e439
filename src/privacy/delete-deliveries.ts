import { sql } from 'kysely';
import { foldedRows } from '../families/fold.ts';
import { type Family, readKey } from '../families/index.ts';
import { rowsMadeOf } from '../families/rows.ts';
import { equal, keyOf, listOf, qualified, quoted, recordsInFeed, recordsOf } from '../families/sql.ts';
import { versionOrder } from '../families/version-order.ts';
import { type ChangeKind, recordChanges } from '../store/changed-records.ts';
import type { Db } from '../store/tables.ts';
import { runText } from '../store/transactions.ts';

/**
 * Deletes deliveries ($1, ids) with everything that is derived from them. Where the newest version of a record goes and an
 * older one stays, that is its row again, if the family has a table of versions. What an older version has told of a row that
 * stays goes with it.
 *
 * Rows are locked in the order in which they are applied: families in the order of the list, each in the order of its keys.
 * The caller locks the deliveries themselves.
 *
 * @param kind what the feed of changes calls it
 * @param db a transaction, with the settings `planForAnySize` where the tables may be large
 * @returns the number of rows deleted by table, without tables of which none was; `deliveries` for those of `inbox`
 */
export async function deleteDeliveries(
  db: Db,
  families: readonly Family[],
  ids: readonly string[],
  kind: Exclude<ChangeKind, 'changed'>,
) {
  const deleted: Record<string, number> = {};
  for (const family of families) {
    const rows = await runText<{ business_id: string; id: string }>(db, rowsStatement(family, kind), [ids]);
    if (rows.length > 0) deleted[family.table] = rows.length;
    if (family.identifiedBy) await runText(db, forgetValuesStatement(family), [ids]);
    if (!family.versions) continue;
    // A statement of its own: it sees versions that another worker has superseded while the rows were being locked.
    const versions = await runText(db, versionsStatement(family), [ids]);
    if (versions.length > 0) deleted[family.versions] = versions.length;
    const keys = [rows.map(({ business_id }) => business_id), rows.map(({ id }) => id)];
    if (rows.length > 0) await runText(db, newestAgainStatement(family), keys);
  }
  const { numAffectedRows } = await sql`delete from inbox where id = any(${ids}::uuid[])`.execute(db);
  return { ...deleted, deliveries: Number(numAffectedRows) };
}

/**
 * The records of the deliveries, to find their rows by the primary key. One that is not in applied_deliveries may have been
 * applied before it lost its state; without a valid key it has no row.
 */
function keys(family: Family): string {
  const id = readKey(family, 'records');
  return `records as materialized (
  select d.id, d.family, d.business_id, d.envelope from inbox d
  where d.id = any($1::uuid[]) and d.family = '${family.name}' and (
    exists (select from applied_deliveries a where a.id = d.id) or has_valid_key(d.family, d.envelope)
  )
), keys as materialized (
  select records.id as delivery_id${id ? `, business_id, ${id} as ${quoted(family.identifiedBy!)}` : ''}
  from records
)`;
}

/** The columns that find a row or a version. */
const versionKey = (family: Family) => [...new Set([...keyOf(family), 'delivery_id'])];

/** The columns that name a record. */
const recordKey = (family: Family) => [...new Set(['business_id', ...keyOf(family)])];

function rowsStatement(family: Family, kind: ChangeKind): string {
  const found = versionKey(family);
  const columns = qualified('existing', found);
  const table = quoted(family.table);
  return `
with ${keys(family)}, locked as materialized (
  select ${columns} from keys join ${table} existing on ${equal('existing', 'keys', found)}
  order by ${columns} for update of existing
), gone as (
  delete from ${table} existing using locked where ${equal('existing', 'locked', found)}
  returning ${qualified('existing', recordKey(family))}
), recorded as (${recordChanges(kind, recordsInFeed(family, 'gone'))}
)
${recordsOf(family, 'gone')}`;
}

function versionsStatement(family: Family): string {
  return `
with ${keys(family)}, gone as (
  delete from ${quoted(family.versions!)} superseded
  using keys where ${equal('superseded', 'keys', versionKey(family))} returning ${qualified('superseded', recordKey(family))}
), recorded as (${recordChanges('changed', recordsInFeed(family, 'gone'))}
)
select from gone`;
}

/** Makes the newest of the remaining versions of records ($1, businesses; $2, keys) their rows. */
function newestAgainStatement(family: Family): string {
  const { fields, identifiedBy } = family;
  const field = fields[identifiedBy!]!;
  const versions = quoted(family.versions!);
  const key = qualified('v', keyOf(family));
  const { columns } = rowsMadeOf(family, 'inbox');
  const isOfRecord = `v.business_id = k.business_id and v.${quoted(identifiedBy!)} = ${field.column(`k.thing::${field.json}`)}`;
  return `
with found as materialized (
  select ${qualified('v', columns)}
  from unnest($1::text[], $2::text[]) as k(business_id, thing) join ${versions} v on ${isOfRecord}
), newest as materialized (
  select distinct on (${key}) ${key}, v.delivery_id from found v
  order by ${[key, ...versionOrder(family, 'v').map((value) => `${value} desc`)].join(', ')}
), moved as (
  delete from ${versions} v using newest where ${equal('v', 'newest', versionKey(family))}
)
insert into ${quoted(family.table)} (${listOf(columns)})
${foldedRows(family, 'found', columns)}`;
}

/**
 * Takes the values of deleted versions ($1, ids) out of the rows that stay. Where the family has a table of versions, older ones
 * that say those fields give theirs.
 */
function forgetValuesStatement(family: Family): string {
  const { table, versions, createdAt } = family;
  const { columns } = rowsMadeOf(family, 'inbox');
  const key = keyOf(family);
  const own = versions ? 'unfolded(to_jsonb(holding))' : 'without_versions(to_jsonb(holding), $1::uuid[])';
  return `
with ${keys(family)}, holding as materialized (
  select existing.* from ${quoted(table)} existing
  where (${qualified('existing', key)}) in (select ${listOf(key)} from keys)
    and (exists (select from jsonb_object_keys(existing.carried->'from') as version where right(version, 36)::uuid = any($1::uuid[]))
      ${createdAt ? 'or existing.first_event_time is not null' : ''})
  order by ${qualified('existing', key)} for update
), said as materialized (
  select ${qualified('own', columns)} from holding cross join lateral jsonb_populate_record(null::${quoted(table)}, ${own}) own
  ${
    versions
      ? `union all
  select ${qualified('v', columns)} from holding join ${quoted(versions)} v on ${equal('v', 'holding', key)} where v.delivery_id <> all($1::uuid[])`
      : ''
  }
), again as materialized (${foldedRows(family, 'said', columns)}
), changed as (
  update ${quoted(table)} existing set (${listOf(columns)}) = row(${qualified('again', columns)})
  from again where ${equal('existing', 'again', key)}
  returning ${qualified('existing', recordKey(family))}
), recorded as (${recordChanges('changed', recordsInFeed(family, 'changed'))}
)
${recordsOf(family, 'changed')}`;
}
