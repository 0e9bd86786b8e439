import type pg from 'pg';
import type { Session } from './lock-holders.ts';

/** The name of BullMQ's queue. */
export const queueName = 'deliveries';

export interface QueueLockHolder extends Session {
  /** Null: an advisory lock alone. */
  table: string | null;
}

const timeoutMs = 1_000;
/** BullMQ's own transactions hold such a lock for milliseconds. */
const shortLockMs = 2_000;

/** An advisory lock of two numbers has `objsubid` 2, one of a single number 1, and then its upper half in `classid`. */
const isPair = (first: string, second: string) =>
  `objsubid = 2 and classid::bigint = ${first} & 4294967295 and objid::bigint = ${second} & 4294967295`;
const isSingle = (key: string) => `objsubid = 1 and (classid::bigint << 32 | objid::bigint) = ${key}`;
const hash = (text: string) => `hashtext('${text}')::bigint`;

/**
 * The advisory locks for which BullMQ's functions wait when they add, claim or finish our jobs: for the first while anybody
 * holds it exclusively, or wants to; for the others if they are used, see their functions. Every role can take them.
 */
export const queueKeys = ['finalization', 'jidseq', 'concurrency', 'limiter'] as const;

const isOfQueue = queueKeys
  .map((key) =>
    key === 'finalization'
      ? isPair(hash(`bullmq:${key}`), hash(queueName))
      : isSingle(hash(`bullmq:${key}:${queueName}`)),
  )
  .map((condition) => `(${condition})`)
  .join(' or ');

/** BullMQ takes it to create or upgrade its tables. */
const isOfMigration = isPair(String(0x42554c4c), hash('bullmq'));

const holders = (keys: string) => `
set local statement_timeout = ${timeoutMs};
select l.pid, application_name as application, usename as role, xact_start as since, host(client_addr) as address, state,
  l."table"
from (
  select pid, min(relation::regclass::text) as "table" from pg_locks
  where database = (select oid from pg_database where datname = current_database()) and (
    locktype = 'advisory' and mode = 'ExclusiveLock' and (${keys})
    or locktype = 'relation' and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
      and relation in (select oid from pg_class where relnamespace = to_regnamespace('bullmq') and relkind = 'r'))
  group by pid
) l left join pg_stat_activity a on a.pid = l.pid
where l.pid is distinct from pg_backend_pid()
  and (xact_start is null or xact_start < clock_timestamp() - interval '${shortLockMs} ms')
order by l.pid`;

const ofQueue = holders(`to_regnamespace('bullmq') is not null and (${isOfQueue})`);
const ofMigration = holders(isOfMigration);

const read = async (database: Pick<pg.ClientBase, 'query'>, query: string): Promise<QueueLockHolder[]> => {
  const results = (await database.query(query)) as unknown as pg.QueryResult<QueueLockHolder>[];
  return results.at(-1)!.rows;
};

/**
 * The sessions for whose advisory locks and table locks the functions of BullMQ's queue in PostgreSQL wait: none where it has
 * no tables. A session of another role, whose transaction is not visible, may have taken its lock just now.
 *
 * @throws the database's error
 */
export const findQueueLockHolders = (pool: pg.Pool) => read(pool, ofQueue);

/** The same for the creation and upgrades of BullMQ's tables. */
export const findMigrationLockHolders = (client: pg.ClientBase) => read(client, ofMigration);
