import { setTimeout as sleep } from 'node:timers/promises';
import {
  assertSchemaCompatibility,
  createPostgresBackend,
  LATEST_SCHEMA_VERSION,
  Queue,
  type QueueBase,
  runMigrations,
  SchemaMigrationRequiredError,
  Worker,
} from 'bullmq';
import type pg from 'pg';
import type { Log } from '../common/log.ts';
import type { PoolSizes } from '../config/pool-sizes.ts';
import type { Circuit } from '../receiver/store/circuit.ts';
import { isLocked } from '../store/faults.ts';
import { describeSession, howToEnd } from '../store/lock-holders.ts';
import { openPool, withClient } from '../store/pool.ts';
import { findMigrationLockHolders, queueName } from '../store/queue-locks.ts';
import { createProcessor, type JobQueue, type JobWorker, type QueueBackend } from './backend.ts';
import { watchObstacles } from './obstacles.ts';

const retryMs = 500;
const idleInTransactionMs = 20_000;
/** How often an idle worker looks for jobs whose notification was lost. */
const pollS = 1;

// A step of an upgrade must time out before what queues behind it does.
const lockTimeoutMs = 500;
const migrationPauseMs = 1_000;
const reportEveryMs = 10_000;

/**
 * The queue in PostgreSQL.
 *
 * @param url a PostgreSQL connection string; BullMQ's tables are in the schema `bullmq`
 * @param circuit of PostgreSQL
 * @param connections the sizes of its pools
 * @param pool another pool of the same database
 */
export function postgresBackend(
  url: string,
  circuit: Circuit,
  connections: Pick<PoolSizes, 'producer' | 'consumer'>,
  pool: pg.Pool,
): QueueBackend {
  const onError = (error: Error) => void circuit.probeAfter(error);
  // A process that freezes in a transaction would keep its locks.
  const settings = { search_path: 'bullmq', idle_in_transaction_session_timeout: idleInTransactionMs };
  const open = (part: string, max: number) =>
    openPool(
      { connectionString: url, query_timeout: 10_000, settings, max, application_name: `receiver ${part}` },
      onError,
    );
  const producer = open('queue', connections.producer);
  const consumer = reconnecting(open('worker queue', connections.consumer));
  return {
    name: 'postgresql',
    circuit,
    openQueue: (options, signal) =>
      openReady<JobQueue>(
        () => new Queue(queueName, on(producer, options), createPostgresBackend as never),
        signal,
      ),
    openWorker: (apply, options, signal) =>
      openReady<JobWorker>(() => {
        const all = on(consumer, { ...options, autorun: false, drainDelay: pollS });
        return new Worker(queueName, createProcessor(apply), all, createPostgresBackend as never);
      }, signal),
    findObstacle: watchObstacles(pool),
    close: async () => {
      await Promise.all([producer.end(), consumer.end()]);
    },
  };
}

/**
 * Creates or upgrades BullMQ's tables, and lets the role `receiver_service` use them where it exists. It waits for locks of
 * others in short turns, so that nobody queues behind it.
 *
 * @param log logs every ten seconds which sessions it waits for
 * @throws the database's error, also where this role may not do it
 */
export async function prepareQueueTables(url: string, log?: Pick<Log, 'warn'>): Promise<void> {
  const prepare = async (client: pg.Client) => {
    const version = await assertSchemaCompatibility(client).catch((error) => {
      // There are no tables.
      if (!(error instanceof SchemaMigrationRequiredError)) throw error;
    });
    if (version !== LATEST_SCHEMA_VERSION) await runMigrations(client);
    await client.query(grants);
  };
  await withClient(
    url,
    async (client) => {
      for (let reported = Number.NEGATIVE_INFINITY; ; await sleep(migrationPauseMs)) {
        try {
          return await prepare(client);
        } catch (error) {
          if (!isLocked(error)) throw error;
        }
        if (!log || performance.now() - reported < reportEveryMs) continue;
        const holders = await findMigrationLockHolders(client).catch(() => []);
        if (holders.length === 0) continue;
        const sessions = holders.map((holder) => `${describeSession(holder)}. ${howToEnd(holder)}`);
        log.warn({ sessions }, 'the tables of the queue cannot be prepared: others hold locks');
        reported = performance.now();
      }
    },
    { lock_timeout: lockTimeoutMs, idle_in_transaction_session_timeout: idleInTransactionMs },
  );
}

// `create`, because BullMQ has a sequence for each queue.
const grants = `
do $$
begin
  if exists (
    select from pg_roles r join pg_namespace n on n.nspname = 'bullmq'
    where r.rolname = 'receiver_service' and pg_has_role(n.nspowner, 'usage') and not has_schema_privilege(r.oid, n.oid, 'usage')
  ) then
    grant usage, create on schema bullmq to receiver_service;
    grant select, insert, update, delete on all tables in schema bullmq to receiver_service;
    grant usage, select, update on all sequences in schema bullmq to receiver_service;
    alter default privileges in schema bullmq
      grant select, insert, update, delete on tables to receiver_service;
    alter default privileges in schema bullmq grant usage, select, update on sequences to receiver_service;
  end if;
end
$$`;

// BullMQ's types expect a Redis connection; the queue and the worker have the same interface on both stores.
const on = <Options extends object>(pool: pg.Pool, options: Options) => ({
  ...options,
  connection: pool as never,
});

/** Retries with a new object each time: BullMQ does not recover from a failed first look at the schema. */
async function openReady<T extends QueueBase>(open: () => T, signal: AbortSignal): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    const opening = open();
    opening.on('error', () => {}); // raised by waitUntilReady
    try {
      await opening.waitUntilReady();
      return opening;
    } catch {
      await opening.close();
      await sleep(retryMs, undefined, { signal });
    }
  }
}

type Callback = (error: Error | undefined, client: pg.PoolClient | undefined, done: () => void) => void;

const minPauseMs = 100;
const maxPauseMs = 2_000;

/**
 * Makes `connect` of a pool retry with backoff until PostgreSQL is available, as the Redis client of a consumer does.
 *
 * BullMQ's worker retries at once after any error but ECONNREFUSED, and a server that starts or stops causes others:
 * without the backoff the worker would spin, and log each attempt.
 */
function reconnecting(pool: pg.Pool): pg.Pool {
  const connectOnce = pool.connect.bind(pool) as () => Promise<pg.PoolClient>;
  const connect = async () => {
    for (let pauseMs = minPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
      try {
        return await connectOnce();
      } catch (error) {
        if (pool.ending || pool.ended) throw error;
        await sleep(pauseMs);
      }
    }
  };
  const connectOrCall = (callback?: Callback) => {
    const connected = connect();
    if (!callback) return connected;
    connected.then(
      (client) => callback(undefined, client, () => client.release()),
      (error: Error) => callback(error, undefined, () => {}),
    );
    return undefined;
  };
  return Object.assign(pool, { connect: connectOrCall as typeof pool.connect });
}
