import { cached, type Family, hasPersonalKey } from '../../callbacks/families/family.ts';
import { columnsOf, keyOf, literal, quoted, tableOf, valuesOf } from '../store/columns.ts';

/** What a merging statement returns: counts. No time-out ends a frozen client that is being sent rows. */
export interface Merged {
  /** Whether the tables are made for the families of this process; else nothing was done. */
  isOurs: boolean;
  /** Deliveries that wait no longer. */
  merged: number;
  /** Rows that were inserted or changed. */
  written: number;
  /** Rows that went because no callback of their record is left. */
  deleted: number;
  /** Deliveries that were put off because other sessions lock their rows. */
  waiting: number;
  /** Whether more may be due than was taken. */
  isFull: boolean;
  /** The records that were given and that others lock, by their places from 1. */
  locked: number[];
  /** Records, some at most, whose callbacks have more than a megabyte: business and id. */
  large: [string, string][];
  /** The time that it took, without the wait for the lock. */
  ms: number;
}

/** The statements that merge records of a family: generated, since columns and types follow from its file. */
export const mergeStatements = cached((family: Family) => ({
  /**
   * $1 fingerprint, $2 whether the feed is told of rows that change, $3 ids, $4 how many others that are due, $5 and $6 the
   * businesses and ids of records that are put off.
   */
  due: generate(family, 'due'),
  /** $1 and $2 as above, $3 and $4 the businesses and ids of records. Rows without callbacks are deleted. */
  records: generate(family, 'records'),
  /** $1 and $2 the businesses and ids of records. Selects those with another row than their callbacks make, of which none waits. */
  stale: generateStale(family),
}));

/**
 * SQL of the first message of a transaction that takes the merge lock, before it locks anything else: one at a time changes
 * what is merged. Of other tables, `receiver.erased` comes next, then rows of inbox in the order of their ids.
 *
 * @param limits the longest wait for others, and the time after which a frozen process is ended, in milliseconds
 */
export const mergeLock = ({ mergeLockMs, idleMs } = { mergeLockMs: 10_000, idleMs: 5_000 }): string =>
  `set local statement_timeout = ${mergeLockMs}; set local lock_timeout = 0;
  set local idle_in_transaction_session_timeout = ${idleMs}; set local tcp_user_timeout = ${idleMs};
  lock table receiver.merge_lock in exclusive mode`;

/** The settings of a transaction that merges: its plans, which are kept, do not depend on how large a table once was. */
export const planSettings = `set local jit = off; set local enable_seqscan = off; set local enable_bitmapscan = off;
  set local plan_cache_mode = force_generic_plan`;

/** Lets records wait: their newest callbacks. $1 family, $2 and $3 businesses and ids. In the order of inserts: none waits for another. */
export const putBack = `
insert into receiver.pending_deliveries (id, family) select id, $1 from (
  select distinct on (business_id, record_id) id
  from receiver.inbox join unnest($2::text[], $3::text[]) r(business_id, record_id) using (business_id, record_id)
  where family = $1 order by business_id, record_id, version desc
) newest order by id on conflict (id) do nothing`;

/** SQL for whether a row `t` of a family's table is that of a record `k`. */
export function isRowOf(family: Family): string {
  const key = keyOf(family).at(-1)!;
  const isKey = `t.${quoted(key)} = k.record_id::${columnsOf(family)[key]}`;
  return family.key ? `t.business_id = k.business_id and ${isKey}` : isKey;
}

/** SQL for when a delivery is tried again: after a pause that doubles. @param max in seconds */
export const growingPause = (max: number): string =>
  `statement_timestamp() + least(interval '${max} s', interval '1 s' * 2 ^ least(attempts, 6))`;

/** SQL for whether a delivery is put off for longer than by any pause: a clock was ahead. */
export const isTooFarAhead = `next_at > now() + interval '5 minutes' and next_at < 'infinity'`;

/**
 * Common table expressions of the due deliveries: those given, unless they have failed, and others. Not by now(), the start
 * of the transaction, which then waited for the lock.
 */
export const dueDeliveries = ({ name }: Family, ids: string, others: string): string => `
given as materialized (
  select id from (select * from receiver.pending_deliveries where id = any(${ids}::uuid[]) offset 0) p
  where family = ${literal(name)} and next_at < 'infinity'
), others as materialized (
  (select id from receiver.pending_deliveries
   where family = ${literal(name)} and next_at <= statement_timestamp() order by next_at limit ${others}::int)
  union all
  (select id from receiver.pending_deliveries where family = ${literal(name)} and ${isTooFarAhead} limit ${others}::int)
), due as materialized (select id from given union select id from others)`;

/**
 * Common table expressions of due callbacks with their records: `stored`, and originals of an erasure, `withheld`: their
 * record may have lost its last callback.
 */
const dueRecords = (family: Family) => `${dueDeliveries(family, '$3', '$4')}, stored as materialized (
  select id, business_id, record_id from receiver.inbox where exists (select from ours) and id = any(array(select id from due))
), withheld as materialized (
  select id, business_id, record_id from receiver.withheld
  where exists (select from ours) and id = any(array(select id from due where id <> all(array(select id from stored))))
), found as materialized (
  select * from stored union all select * from withheld
), records as materialized (
  select business_id, record_id, row_number() over () as n,
         (business_id, record_id) in (select * from unnest($5::text[], $6::text[])) as is_apart
  from found group by business_id, record_id
)`;

const givenRecords = `records as materialized (
  select business_id, record_id, min(n) as n from unnest($3::text[], $4::text[]) with ordinality as r(business_id, record_id, n)
  where exists (select from ours) group by business_id, record_id
)`;

const notMerged = 'its row is locked by another session, or its merges take long';

// A pending row whose callback somebody has deleted would be due for ever.
const dueOnes = `
  union all select id, true from due where exists (select from ours) and id <> all(array(select id from found))
  union all select w.id, true from withheld w join tried k using (business_id, record_id) where k.is_mine
  union all select f.id, false from found f join tried k using (business_id, record_id) where not k.is_mine`;

/** SQL for the kind of a change: a row goes where an erasure, or retention, has left no callback of it. */
const kindOf = (isDue: boolean) =>
  `case when is_gone ${
    isDue
      ? 'or exists (select from withheld w where (w.business_id, w.record_id) = (changed.business_id, changed.record_id))'
      : ''
  } then 'erased' when is_deleted then 'deleted' else 'changed' end`;

/** Common table expressions: callbacks of records `k` of `tried`, and what they say: see `valuesOf`. */
const mergedCallbacks = (family: Family) => `versions as materialized (
  select k.n, i.* from tried k cross join lateral (
    select id, version, event, client_id, event_time, coalesce(data, envelope->'data') as data from receiver.inbox
    where business_id = k.business_id and family = ${literal(family.name)} and record_id = k.record_id offset 0
  ) i
  where k.is_mine
), newest as (
  select distinct on (n) n, id, event, event_time from versions order by n, version desc
), merged as (
  -- Some events have none.
  select n, receiver.jsonb_merge(data order by version) as d, sum(pg_column_size(data)) as bytes,
         (array_agg(client_id order by version desc) filter (where client_id <> ''))[1] as client_id
  from versions group by n
)`;

function generateStale(family: Family): string {
  const columns = Object.entries(columnsOf(family));
  const values = valuesOf(family).map((value, index) => `(${value})::${columns[index]![1]}`);
  const row = `row(${columns.map(([name]) => `t.${quoted(name)}`).join(', ')})::record`;
  return `
with tried as materialized (
  select *, true as is_mine from unnest($1::text[], $2::text[]) with ordinality as k(business_id, record_id, n)
), ${mergedCallbacks(family)}
select k.business_id as "businessId", k.record_id as "recordId"
from merged m join newest n using (n) join tried k using (n)
left join lateral (select ${row} as there from ${tableOf(family)} t where ${isRowOf(family)} offset 0) r on true
where (r.there is null or r.there operator(pg_catalog.*<>) row(${values.join(', ')})::record)
  and not exists (select from versions v join receiver.pending_deliveries using (id) where v.n = m.n)`;
}

function generate(family: Family, mode: 'due' | 'records'): string {
  const isDue = mode === 'due';
  const table = tableOf(family);
  const isRow = isRowOf(family);
  const keys = keyOf(family);
  const lastKey = keys.at(-1)!;
  const columns = Object.keys(columnsOf(family));
  const others = columns.filter((column) => !keys.includes(column)).map(quoted);
  // Records as they are stored, since 1.0 equals 1.00; with the cast, because row(…) and row(…) are compared column by column.
  const row = (of: string) => `row(${others.map((column) => `${of}.${column}`).join(', ')})::record`;
  const returned = `t.business_id, t.${quoted(lastKey)}::text as record_id`;

  // `offset 0`, arrays and locks in subqueries keep the shape of the plan: for each record one look into each index.
  return `
with ours as materialized (
  select where receiver.is_current($1)
), ${isDue ? dueRecords(family) : givenRecords}, tried as materialized (
  select k.*, free.before, (free.is_row is not null or existing.is_row is null)${isDue ? ' and not k.is_apart' : ''} as is_mine
  from records k
  left join lateral (select true as is_row, ${row('t')} as before from ${table} t where ${isRow} for update skip locked) free on true
  left join lateral (select true as is_row from ${table} t where ${isRow} offset 0) existing on true
), ${mergedCallbacks(family)}, written as (
  insert into ${table} as t (${columns.map(quoted).join(', ')})
  select ${valuesOf(family).join(', ')}
  from merged m join newest n using (n) join tried k using (n)
  on conflict (${keys.map(quoted).join(', ')}) do update set ${others.map((column) => `${column} = excluded.${column}`).join(', ')}
  where ${row('t')} operator(pg_catalog.*<>) ${row('excluded')}
  returning ${returned}, ${row('t')} as after, t.deleted_at is not null as is_deleted
), gone as (
  delete from ${table} t using tried k
  where ${isDue ? 'exists (select from withheld) and ' : ''}k.is_mine and ${isRow} and k.n <> all(array(select n from versions))
  returning ${returned}
), read as materialized (
  select id, true as is_read from versions ${isDue ? dueOnes : ''}
), seen as materialized (
  select r.*, p.next_at from read r
  cross join lateral (select next_at from receiver.pending_deliveries p where p.id = r.id offset 0) p
), told as (
  -- The feed keeps keys, so it has none that identify a person. What waits is told, whoever merges it; so are rows that come
  -- or go, since a reader has each record. Here 1.0 equals 1.00.
  insert into receiver.changes (family, business_id, record_id, kind)
  select ${literal(family.name)}, business_id, record_id, ${kindOf(isDue)}
  from (
    select w.business_id, w.record_id, w.is_deleted, false as is_gone
    from written w join tried k using (business_id, record_id)
    where k.before is null or k.before is distinct from w.after and ($2::boolean or exists (
      select from versions v join seen s using (id) where v.n = k.n
    ))
    union all
    select business_id, record_id, true, true from gone
  ) changed${hasPersonalKey(family) ? ' where false' : ''}
), taken as materialized (
  -- What was stored again since the snapshot has another next_at, and waits for the next merge. Nothing is waited for here:
  -- an insert may hold one of these rows, and wait for another.
  select s.* from seen s cross join lateral (
    select from receiver.pending_deliveries p where p.id = s.id and p.next_at = s.next_at for update skip locked
  ) p
), done as (
  delete from receiver.pending_deliveries where id = any(array(select id from taken where is_read)) returning id
), put_off as (
  update receiver.pending_deliveries
  set attempts = attempts + 1, next_at = ${growingPause(60)}, error = '${notMerged}'
  where id = any(array(select id from taken where not is_read)) returning id
)
-- The rows first: then pending rows are not held while they are written.
select exists (select from ours) as "isOurs", (select count(*) from written)::int as written, (select count(*) from gone)::int as deleted,
       (select count(*) from done)::int as merged,
       (select count(*) from put_off)::int as waiting,
       ${isDue ? '(select count(*) from others) >= $4::int' : 'false'} as "isFull",
       ${isDue ? 'array[]::int[]' : 'array(select n::int from tried where not is_mine)'} as locked,
       array(select array[business_id, record_id] from merged join tried using (n) where bytes > 1000000 order by bytes desc limit 20) as large,
       (extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::int as ms`;
}
