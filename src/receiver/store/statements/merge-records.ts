// Raw SQL, generated from the family's file: one statement reads callbacks, writes rows, records changes and deletes pending rows,
// under one lock and from one snapshot. Measured: 21,900 deliveries a second in merges of 500, 740 one by one.

import { cached, type Family, hasPersonalKey } from '../../../callbacks/families/family.ts';
import { columnsOf, isRowOf, keyOf, literal, quoted, tableOf, valuesOf } from '../columns.ts';
import { dueDeliveries, growingPause } from './pending.ts';

export interface MergeTotals {
  /** Deliveries that wait no longer. */
  merged: number;
  written: number;
  /** Rows that went because no callback of their record is left. */
  deleted: number;
  /** Deliveries that were put off. */
  waiting: number;
  /** More may be due than was taken. */
  isFull: boolean;
}

/** Returned in place of rows: no time-out ends a frozen client that is being sent rows. */
export interface MergeCounts extends MergeTotals {
  /** The tables are made for the families of this process; else nothing was done. */
  isCurrent: boolean;
  /** The requested records that others lock, by their places from 1. */
  locked: number[];
}

/** Together the times keep other deliveries waiting for less than 30 s. */
export const mergeLimits = {
  maxDeliveries: 500,
  /** After which a merge that failed is not split further; what is left waits. */
  runMs: 10_000,
  /** The time limit of a merge of `maxDeliveries`, or of one record; others have a part of it, a fifth at least. */
  statementMs: 5_000,
  /** The wait for others that merge. */
  mergeLockMs: 10_000,
  /** The wait for a new row that another session inserts; rows that exist are not waited for. */
  lockMs: 1_000,
  /** After which PostgreSQL ends the session of a process that is frozen in the middle. */
  idleMs: 5_000,
};
export type MergeLimits = typeof mergeLimits;

export const mergeStatements = cached((family: Family) => ({
  /** $1 fingerprint, $2 whether changes of rows are recorded, $3 how many deliveries that are due. */
  due: generate(family, 'due'),
  /** $1 and $2 as above, $3 and $4 the businesses and ids of records. Rows without callbacks are deleted. */
  records: generate(family, 'records'),
}));

/**
 * The first message of a transaction that takes the merge lock: one at a time changes what is merged. Of other tables,
 * `receiver.erased` is locked next, then rows of inbox in the order of their ids.
 */
export const mergeLock = ({ mergeLockMs, idleMs }: MergeLimits = mergeLimits): string =>
  `set local statement_timeout = ${mergeLockMs}; set local lock_timeout = 0;
  set local idle_in_transaction_session_timeout = ${idleMs}; set local tcp_user_timeout = ${idleMs};
  lock table receiver.merge_lock in exclusive mode`;

/** Two parameters of a statement. */
export const keysOf = (records: readonly { businessId: string; recordId: string }[]) => [
  records.map(({ businessId }) => businessId),
  records.map(({ recordId }) => recordId),
];

/** The settings of a transaction that merges: its plans, which are kept, do not depend on how large a table once was. */
export const planSettings = `set local jit = off; set local enable_seqscan = off; set local enable_bitmapscan = off;
  set local plan_cache_mode = force_generic_plan`;

/** Common table expressions of due callbacks with their records; an erasure may have withheld the last callback of one. */
const dueRecords = (family: Family) => `${dueDeliveries(family, '$3')}, stored as materialized (
  select id, business_id, record_id from receiver.inbox
  where exists (select from current_tables) and id = any(array(select id from due))
), withheld as materialized (
  select id, business_id, record_id from receiver.withheld
  where exists (select from current_tables) and id = any(array(select id from due where id not in (select id from stored)))
), callbacks as materialized (
  select * from stored union all select * from withheld
), records as materialized (
  select business_id, record_id, row_number() over () as n from callbacks group by business_id, record_id
)`;

const requestedRecords = `records as materialized (
  select business_id, record_id, min(n) as n from unnest($3::text[], $4::text[]) with ordinality as r(business_id, record_id, n)
  where exists (select from current_tables) group by business_id, record_id
)`;

// A pending row whose callback was deleted by hand would be due for ever.
const readOfDue = `
  union all select id, true from due where exists (select from current_tables) and id not in (select id from callbacks)
  union all select w.id, true from withheld w join locked_records k using (business_id, record_id) where k.is_locked
  union all select c.id, false from callbacks c join locked_records k using (business_id, record_id) where not k.is_locked`;

/** SQL for the kind of a change: a row goes where an erasure, or retention, has left no callback of it. */
const kindOf = (isDue: boolean) =>
  `case when is_gone ${
    isDue
      ? 'or exists (select from withheld w where (w.business_id, w.record_id) = (changed.business_id, changed.record_id))'
      : ''
  } then 'erased' when is_deleted then 'deleted' else 'changed' end`;

/** Common table expressions: callbacks of `locked_records`, the newest, and all merged: `n` and `m` of `valuesOf`. */
export const mergedCallbacks = (family: Family): string => `versions as materialized (
  select k.n, i.* from locked_records k cross join lateral (
    select id, version, event, client_id, event_time, coalesce(data, envelope->'data') as data from receiver.inbox
    where business_id = k.business_id and family = ${literal(family.name)} and record_id = k.record_id offset 0
  ) i
  where k.is_locked
), newest as (
  select distinct on (n) n, id, event, event_time from versions order by n, version desc
), merged_data as (
  -- Some events have none.
  select n, receiver.jsonb_merge(data order by version) as d,
         (array_agg(client_id order by version desc) filter (where client_id <> ''))[1] as client_id
  from versions group by n
)`;

/**
 * Common table expressions that delete the pending rows of `read_deliveries`, and put off those that were due and not read.
 * What was stored again since the snapshot has another next_at, and waits for the next merge. Nothing is waited for here: an
 * insert may hold one of these rows, and wait for another.
 */
const endedPending = `locked_pending as materialized (
  select s.* from pending s cross join lateral (
    select from receiver.pending_deliveries p where p.id = s.id and p.next_at = s.next_at for update skip locked
  ) p
), applied as (
  delete from receiver.pending_deliveries where id = any(array(select id from locked_pending where is_read)) returning id
), postponed as (
  update receiver.pending_deliveries
  set attempts = attempts + 1, next_at = ${growingPause(60)}, error = 'its row is locked by another session'
  where id = any(array(select id from locked_pending where not is_read)) returning id
)`;

function generate(family: Family, mode: 'due' | 'records'): string {
  const isDue = mode === 'due';
  const table = tableOf(family);
  const isRow = isRowOf(family);
  const keys = keyOf(family);
  const columns = Object.keys(columnsOf(family));
  const others = columns.filter((column) => !keys.includes(column)).map(quoted);
  // Records as they are stored, since 1.0 equals 1.00; with the cast, because row(…) and row(…) are compared column by column.
  const row = (of: string) => `row(${others.map((column) => `${of}.${column}`).join(', ')})::record`;
  const returned = `t.business_id, t.${quoted(keys.at(-1)!)}::text as record_id`;

  // `offset 0`, arrays and locks in subqueries keep the shape of the plan: for each record one look into each index.
  return `
with current_tables as materialized (
  select where receiver.is_current($1)
), ${isDue ? dueRecords(family) : requestedRecords}, locked_records as materialized (
  select k.*, free.before, free.is_row is not null or existing.is_row is null as is_locked
  from records k
  left join lateral (select true as is_row, ${row('t')} as before from ${table} t where ${isRow} for update skip locked) free on true
  left join lateral (select true as is_row from ${table} t where ${isRow} offset 0) existing on true
), ${mergedCallbacks(family)}, written_rows as (
  insert into ${table} as t (${columns.map(quoted).join(', ')})
  select ${valuesOf(family).join(', ')}
  from merged_data m join newest n using (n) join locked_records k using (n)
  on conflict (${keys.map(quoted).join(', ')}) do update set ${others.map((column) => `${column} = excluded.${column}`).join(', ')}
  where ${row('t')} operator(pg_catalog.*<>) ${row('excluded')}
  returning ${returned}, ${row('t')} as after, t.deleted_at is not null as is_deleted
), deleted_rows as (
  delete from ${table} t using locked_records k
  where ${isDue ? 'exists (select from withheld) and ' : ''}k.is_locked and ${isRow} and k.n not in (select n from versions)
  returning ${returned}
), read_deliveries as materialized (
  select id, true as is_read from versions ${isDue ? readOfDue : ''}
), pending as materialized (
  select r.*, p.next_at from read_deliveries r
  cross join lateral (select next_at from receiver.pending_deliveries p where p.id = r.id offset 0) p
), changes as (
  -- The feed keeps keys, so it has none that identify a person. What waits is recorded, whoever merges it; so are rows that
  -- come or go, since a reader has each record. Here 1.0 equals 1.00.
  insert into receiver.changes (family, business_id, record_id, kind)
  select ${literal(family.name)}, business_id, record_id, ${kindOf(isDue)}
  from (
    select w.business_id, w.record_id, w.is_deleted, false as is_gone
    from written_rows w join locked_records k using (business_id, record_id)
    where k.before is null or k.before is distinct from w.after and ($2::boolean or exists (
      select from versions v join pending using (id) where v.n = k.n
    ))
    union all
    select business_id, record_id, true, true from deleted_rows
  ) changed${hasPersonalKey(family) ? ' where false' : ''}
), ${endedPending}
-- The rows first: then pending rows are not held while they are written.
select exists (select from current_tables) as "isCurrent", (select count(*) from written_rows)::int as written,
       (select count(*) from deleted_rows)::int as deleted,
       (select count(*) from applied)::int as merged,
       (select count(*) from postponed)::int as waiting,
       ${isDue ? '(select count(*) from due) >= $3::int' : 'false'} as "isFull",
       ${isDue ? 'array[]::int[]' : 'array(select n::int from locked_records where not is_locked)'} as locked`;
}
