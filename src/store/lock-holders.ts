import { sql } from 'kysely';
import type pg from 'pg';
import { withTimeout } from '../common/with-timeout.ts';
import type { Db } from './tables.ts';

/** A session of PostgreSQL. What it runs is never read: a query may contain personal data. */
export interface Session {
  /** Null: a prepared transaction. */
  pid: number | null;
  application: string | null;
  role: string | null;
  /** When its transaction began; null: not visible to this role. */
  since: Date | null;
  /** The client’s; null: a socket file, or not visible. Undefined: not read. */
  address?: string | null;
  /** Such as `idle in transaction`; null: not visible. Undefined: not read. */
  state?: string | null;
}

export interface LockHolder extends Session {
  table: string;
}

const timeoutMs = 1_000;
const minWaitMs = 200;

/**
 * Locks with which nobody can write, and what blocks those that are asked for: writers queue behind them. Row locks of a
 * session that forgot its transaction are found while one of this role's sessions waits for them.
 */
const query = `
set local statement_timeout = ${timeoutMs};
with recursive lock as (
  select l.pid, l.granted, l.relation::regclass::text as "table" from pg_locks l join pg_class c on c.oid = l.relation
  where l.locktype = 'relation' and l.pid is distinct from pg_backend_pid()
    and l.database = (select oid from pg_database where datname = current_database())
    and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
    and c.relkind in ('r', 'p') and c.relnamespace in (to_regnamespace(current_schema()), to_regnamespace('bullmq'))
), held as (
  select "table", pid from lock where granted
  union
  select "table", unnest(pg_blocking_pids(pid)) from lock where not granted
  union
  select coalesce((
      select l.relation::regclass::text from pg_locks l where l.pid = a.pid and l.locktype = 'tuple' limit 1
    ), 'unknown'), unnest(pg_blocking_pids(a.pid))
  from pg_stat_activity a
  where a.datname = current_database() and a.usename = current_user and a.wait_event_type = 'Lock'
    and a.wait_event in ('transactionid', 'tuple')
    -- Attempts with what is set aside wait for less; blocked_deliveries names what these wait for.
    and exists (select from pg_locks w where w.pid = a.pid and w.waitstart < clock_timestamp() - interval '${minWaitMs} ms')
  union
  select "table", unnest(pg_blocking_pids(pid)) from held
)
select distinct on ("table", pid) "table", nullif(pid, 0) as pid, application_name as application, usename as role,
  xact_start as since
from held left join pg_stat_activity using (pid)
-- A visible session without a transaction has ended it since.
where (state is null or xact_start is not null)
  -- One that waits itself is innocent: what it waits for is named.
  and (pid = 0 or cardinality(pg_blocking_pids(pid)) = 0)
order by "table", pid`;

/**
 * The sessions whose locks keep the receiver from writing to its tables.
 *
 * @throws the database's error
 */
export async function findLockHolders(pool: pg.Pool): Promise<LockHolder[]> {
  const results = (await pool.query(query)) as unknown as pg.QueryResult<LockHolder>[];
  return results.at(-1)!.rows;
}

/** For a line of the log: undefined where nobody holds a lock, or it cannot be read within a second. */
export async function tryFindLockHolders(pool: pg.Pool): Promise<LockHolder[] | undefined> {
  const holders = await withTimeout(timeoutMs, findLockHolders(pool)).catch(() => []);
  return holders.length > 0 ? holders : undefined;
}

const holderQuery = (pid: number) => sql<Session & { gid: string | null }>`
with recursive chain as (
  select ${pid}::int as pid
  union
  select unnest(pg_blocking_pids(pid)) from chain
)
select nullif(pid, 0) as pid, application_name as application, usename as role, xact_start as since, (
    select quote_literal(gid) from pg_prepared_xacts p join pg_locks w on w.transactionid = p.transaction
    where not w.granted and w.pid in (select pid from chain) limit 1
  ) as gid
from chain left join pg_stat_activity using (pid)
where pid <> ${pid} and (pid = 0 or cardinality(pg_blocking_pids(pid)) = 0)
order by pid limit 1`;

/**
 * What a session waits for, at the end of its queue: whose lock it is, and how to end that.
 *
 * @returns undefined while it waits for nothing
 * @throws the database's error
 */
export async function describeHolder(db: Db, pid: number): Promise<string | undefined> {
  const { rows } = await holderQuery(pid).execute(db);
  const [holder] = rows;
  if (holder?.pid) {
    return `${describeSession(holder)}. To end it: select pg_terminate_backend(${holder.pid})`;
  }
  return holder?.gid
    ? `prepared transaction ${holder.gid}. To end it: rollback prepared ${holder.gid}; or: commit prepared ${holder.gid}`
    : undefined;
}

/** A session in words. */
export function describeSession({ pid, application, role, since, address, state }: Session): string {
  if (pid === null) return 'a prepared transaction: select * from pg_prepared_xacts';
  const begun = since ? `since ${since.toISOString()}` : 'since when could not be read';
  const client = address === undefined ? [] : [`address ${address ?? (state ? 'a socket' : 'unknown')}`];
  const states = state === undefined ? [] : [`state ${state ?? 'unknown'}`];
  const known = [
    `application ${application || 'unknown'}`,
    `role ${role ?? 'unknown'}`,
    ...client,
    ...states,
  ];
  return `session ${pid} (${[...known, begun].join(', ')})`;
}

/** What ends a session, or the prepared transaction. */
export const howToEnd = ({ pid }: Session) =>
  pid === null ? 'Commit it, or roll it back' : `To end it: select pg_terminate_backend(${pid})`;
