import { setTimeout as sleep } from 'node:timers/promises';
import { createPostgresBackend, Queue, type QueueBase, runMigrations, Worker } from 'bullmq';
import type pg from 'pg';
import type { Connections } from '../connections.ts';
import type { Circuit } from '../store/circuit.ts';
import { openPool, withClient } from '../store/pool.ts';
import { createProcessor, type JobQueue, type JobWorker, type QueueBackend, queueName } from './backend.ts';
import { ReconnectingPool } from './reconnecting-pool.ts';

const retryMs = 500;

/**
 * The queue in PostgreSQL.
 *
 * @param url a PostgreSQL connection string; BullMQ's tables are in the schema `bullmq`
 * @param circuit of PostgreSQL
 * @param connections the sizes of its pools
 */
export function postgresBackend(
  url: string,
  circuit: Circuit,
  connections: Pick<Connections, 'producer' | 'consumer'>,
): QueueBackend {
  const onError = (error: Error) => void circuit.probeAfter(error);
  const settings = { connectionString: url, query_timeout: 10_000, settings: { search_path: 'bullmq' } };
  const producer = openPool(
    { ...settings, max: connections.producer, application_name: 'receiver queue' },
    onError,
  );
  const consumer = openPool(
    { ...settings, max: connections.consumer, application_name: 'receiver worker queue' },
    onError,
    ReconnectingPool,
  );
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
        const all = on(consumer, { ...options, autorun: false });
        return new Worker(queueName, createProcessor(apply), all, createPostgresBackend as never);
      }, signal),
    close: async () => {
      await Promise.all([producer.end(), consumer.end()]);
    },
  };
}

/** Creates or upgrades BullMQ's tables. */
export async function prepareQueueTables(url: string): Promise<void> {
  await withClient(url, (client) => runMigrations(client));
}

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
