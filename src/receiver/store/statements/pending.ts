// Raw SQL: the common table expressions of the merge, and what is locked in the order of ids, as all do that lock several.
// Where `next_at` is infinity PostgreSQL has refused the data: a later merge of the record, or a replay, takes it up.

import type { Family } from '../../../callbacks/families/family.ts';
import { literal } from '../columns.ts';

/** SQL for the next attempt: after a pause that doubles. @param maxS in seconds */
export const growingPause = (maxS: number): string =>
  `statement_timestamp() + least(interval '${maxS} s', interval '1 s' * 2 ^ least(attempts, 6))`;

/** A common table expression of the `due` deliveries. @param size a parameter: how many */
export const dueDeliveries = ({ name }: Family, size: string): string => `
due as materialized (
  -- Not by now(), the start of the transaction, which then waited for the lock.
  select id from receiver.pending_deliveries
  where family = ${literal(name)} and next_at <= statement_timestamp() order by next_at limit ${size}::int
)`;

/** Deliveries of a family, $1, that are not applied, among $2: `waitMs` is Infinity where PostgreSQL has refused the data. */
export const waitingStates = `
select id, error, (1000 * (extract(epoch from next_at) - extract(epoch from now())))::float8 as "waitMs"
from (select * from receiver.pending_deliveries where id = any($2::uuid[]) offset 0) p where family = $1`;

/** Lets records wait: their newest callbacks. $1 family, $2 and $3 businesses and ids. */
export const putBack = `
insert into receiver.pending_deliveries (id, family) select id, $1 from (
  select distinct on (business_id, record_id) id
  from receiver.inbox join unnest($2::text[], $3::text[]) r(business_id, record_id) using (business_id, record_id)
  where family = $1 order by business_id, record_id, version desc
) newest order by id on conflict (id) do nothing`;

/** Puts deliveries off. $1 ids, $2 the reason. @param nextAt SQL */
export const putOff = (nextAt: string): string => `
update receiver.pending_deliveries set attempts = attempts + 1, next_at = ${nextAt}, error = $2
where id in (select id from receiver.pending_deliveries where id = any($1::uuid[]) order by id for update) and next_at < 'infinity'`;

/** Records of a family, $1, with their deliveries that wait, in the order in which they are due. */
const waiting = (records: string): string => `
with ${records}, withheld as (
  select w.* from receiver.pending_deliveries join receiver.withheld w using (id) where w.family = $1
)
select k.business_id as "businessId", k.record_id as "recordId",
       coalesce(array_agg(p.id) filter (where p.id is not null), '{}') as ids
from records k
left join lateral (
  select id from receiver.inbox where (business_id, family, record_id) = (k.business_id, $1, k.record_id)
  union all
  select id from withheld w where (w.business_id, w.record_id) = (k.business_id, k.record_id)
) i on true
left join receiver.pending_deliveries p on p.id = i.id and p.next_at < 'infinity'
group by k.business_id, k.record_id order by min(p.next_at)`;

/** $2 and $3 the businesses and ids of the records. */
export const waitingOfRecords = waiting(
  'records as (select * from unnest($2::text[], $3::text[]) as r(business_id, record_id))',
);

/** The records of due deliveries: $2 how many. */
export const waitingOfDue = (family: Family): string =>
  waiting(`${dueDeliveries(family, '$2')}, records as (
  select business_id, record_id from due join receiver.inbox using (id)
  union select business_id, record_id from due join receiver.withheld using (id))`);
