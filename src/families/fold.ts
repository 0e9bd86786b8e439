import type { Family } from './family.ts';
import { keyOf, listOf, literal, qualified, quoted } from './sql.ts';
import { versionKeyOf, versionOrder } from './version-order.ts';

// SQL for the row that several versions of a record make: each field has the value of the greatest version that says it. What a
// row lacks, and which older versions its other values are from, is in its column `carried`.

/** A row of a family's table as JSON, for the function fold_rows. */
const asJson = (family: Family, row: string) =>
  `to_jsonb(${row}) || jsonb_build_object('version_key', ${versionKeyOf(family, row)})`;

/**
 * The query for the rows that these make, one of each record.
 *
 * @param rows the name of a query for rows of the family's table
 */
export const foldedRows = (
  family: Family,
  rows: string,
  columns: readonly string[],
  condition = 'true',
): string => `
  select ${qualified('made', columns)} from (
    select fold_rows(${asJson(family, rows)} order by ${versionKeyOf(family, rows)} collate "C") as folded
    from ${rows} where ${condition} group by ${qualified(rows, keyOf(family))}
  ) records cross join lateral jsonb_populate_record(null::${quoted(family.table)}, folded) made`;

/** SQL for what a row and those before it make, as JSON: rows of one record. */
export const foldedUpTo = (family: Family, row: string): string =>
  `fold_rows(${asJson(family, row)}) over (order by ${versionKeyOf(family, row)} collate "C")`;

/** The columns that are the version's, and no field of the record. */
const isOfVersion = ({ fields, identifiedBy }: Family, column: string) =>
  !Object.hasOwn(fields, column) || column === identifiedBy;

/**
 * What an upsert of a row that is `excluded` makes of the one that is `existing`, and whether it changes it. Nearly always the
 * newer row lacks nothing that the other has: then it replaces it.
 *
 * @param columns those of the family's table, in order
 */
export function foldOnConflict(family: Family, columns: readonly string[]): string {
  const rows = (['existing', 'excluded'] as const).map(
    (row) => `${row}.carried, ${row}.extra, ${versionKeyOf(family, row)}`,
  );
  // Where both say the same fields, only the newer one changes anything.
  const isReplaced =
    'existing.carried is null and excluded.carried is null and existing.extra = excluded.extra';
  const choose = (condition: string, column: string) =>
    `case when ${condition} then existing.${quoted(column)} else excluded.${quoted(column)} end`;
  const made = (column: string): string => {
    if (column === 'carried') return 't.carried';
    if (column === 'extra') return 'case when t.is_older is null then excluded.extra else t.extra end';
    if (column === 'first_event_time') return firstEventTime(family);
    return isOfVersion(family, column)
      ? choose('t.is_older', column)
      : choose(`t.kept ? ${literal(column)} <> t.is_older`, column);
  };
  const order = (row: string) => `(${versionOrder(family, row).join(', ')})`;
  return `do update set (${listOf(columns)}) = (
    select ${columns.map(made).join(',\n      ')}
    from (
      select (c).is_older, (c).kept, (c).carried, (c).extra
      from (select case when not (${isReplaced}) then compare_fields(${rows.join(', ')}) end as c offset 0) compared offset 0
    ) t
  )
  where case
    when ${order('excluded')}
      > ${order('existing')} then true
    when existing.carried is null and has_keys_of(existing.extra, excluded.extra) and existing.delivery_id <> excluded.delivery_id then false
    else is_changed_by(${asJson(family, 'existing')}, ${asJson(family, 'excluded')}, array[${columns.map(literal).join(', ')}])
  end`;
}

/** The earliest event time of the versions, where none says when it was created. */
function firstEventTime({ createdAt }: Family): string {
  const first = (row: string) => `coalesce(${row}.first_event_time, ${row}.event_time)`;
  return `case when existing.${quoted(createdAt!)} is null and excluded.${quoted(createdAt!)} is null then nullif(
        least(${first('existing')}, ${first('excluded')}), case when t.is_older then existing.event_time else excluded.event_time end) end`;
}

/** The query for the records of which several versions are among these rows, one of which may lack what another says. */
export const recordsToFold = (family: Family, rows: string): string => `
  select ${listOf(keyOf(family))} from ${rows} group by ${listOf(keyOf(family))}
  having count(*) > 1 and (bool_or(carried is not null) or count(distinct extra) > 1)`;

/** Whether a row's record is among those that a query names. */
export const isAmong = (family: Family, row: string, records: string): string =>
  `(${qualified(row, keyOf(family))}) in (select ${listOf(keyOf(family))} from ${records})`;
