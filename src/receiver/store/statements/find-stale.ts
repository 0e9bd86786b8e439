/** Raw SQL: rows are compared with what their callbacks make in one pass, as records, by the expressions of the merge. */

import { cached, type Family } from '../../../callbacks/families/family.ts';
import { columnsOf, isRowOf, quoted, tableOf, valuesOf } from '../columns.ts';
import { mergedCallbacks } from './merge-records.ts';

/** $1 and $2 the businesses and ids of records. Selects those with another row than their callbacks make, of which none waits. */
export const findStale = cached((family: Family): string => {
  const columns = Object.entries(columnsOf(family));
  const values = valuesOf(family).map((value, index) => `(${value})::${columns[index]![1]}`);
  const row = `row(${columns.map(([name]) => `t.${quoted(name)}`).join(', ')})::record`;
  return `
with locked_records as materialized (
  select *, true as is_locked from unnest($1::text[], $2::text[]) with ordinality as k(business_id, record_id, n)
), ${mergedCallbacks(family)}
select k.business_id as "businessId", k.record_id as "recordId"
from merged_data m join newest n using (n) join locked_records k using (n)
left join lateral (select ${row} as existing from ${tableOf(family)} t where ${isRowOf(family)} offset 0) r on true
where (r.existing is null or r.existing operator(pg_catalog.*<>) row(${values.join(', ')})::record)
  and not exists (select from versions v join receiver.pending_deliveries using (id) where v.n = m.n)`;
});
