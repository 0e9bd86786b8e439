import { setTimeout as sleep } from 'node:timers/promises';
import { createPostgresBackend, Queue, runMigrations, Worker } from 'bullmq';
import type pg from 'pg';
import type { Circuit } from '../store/circuit.ts';
import { openPool, withClient } from '../store/pool.ts';
import { type JobQueue, type JobWorker, type QueueBackend, queueName } from './backend.ts';
import { ReconnectingPool } from './reconnecting-pool.ts';

const retryMs = 500;

/**
 * @param url a PostgreSQL connection string; BullMQ's tables live there in the schema `bullmq`
 * @param circuit of PostgreSQL
 */
export function postgresBackend(url: string, circuit: Circuit): QueueBackend {
  const onError = (error: Error) => void circuit.suspect(error);
  const settings = {
    connectionString: url,
    query_timeout: 10_000,
    settings: { search_path: 'bullmq', statement_timeout: 9_000 },
  };
  const producer = openPool({ ...settings, max: 2, application_name: 'receiver queue' }, onError);
  const consumer = openPool(
    { ...settings, max: 6, application_name: 'receiver worker queue' },
    onError,
    ReconnectingPool,
  );
  return {
    name: 'postgresql',
    circuit,
    openQueue: (options, signal) =>
      opened<JobQueue>(
        () => new Queue(queueName, on(producer, options), createPostgresBackend as never),
        signal,
      ),
    openWorker: (process, options, signal) =>
      opened<JobWorker>(() => {
        const all = on(consumer, { ...options, autorun: false });
        return new Worker(queueName, process, all, createPostgresBackend as never);
      }, signal),
    close: async () => {
      await Promise.all([producer.end(), consumer.end()]);
    },
  };
}

/** Creates or upgrades what BullMQ needs in PostgreSQL. */
export async function prepareQueueTables(url: string): Promise<void> {
  await withClient(url, (client) => runMigrations(client));
}

// BullMQ's types name the backend; what we use of a queue and of a worker is the same on both.
const on = <Options extends object>(pool: pg.Pool, options: Options) => ({
  ...options,
  connection: pool as never,
});

interface Openable {
  on: (event: 'error', listener: (error: Error) => void) => unknown;
  waitUntilReady: () => Promise<unknown>;
  close: () => Promise<void>;
}

/** BullMQ never forgets that its first look at the schema failed: such an object is thrown away. */
async function opened<T extends Openable>(open: () => T, signal: AbortSignal): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    const opening = open();
    opening.on('error', () => {}); // it is raised below
    try {
      await opening.waitUntilReady();
      return opening;
    } catch {
      await opening.close();
      await sleep(retryMs, undefined, { signal });
    }
  }
}
