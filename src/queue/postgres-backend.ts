import { setTimeout as sleep } from 'node:timers/promises';
import { createPostgresBackend, Queue, runMigrations, Worker } from 'bullmq';
import type pg from 'pg';
import { openPool, withClient } from '../store/pool.ts';
import { type JobQueue, type JobWorker, type QueueBackend, queueName } from './backend.ts';
import { PatientPool } from './patient-pool.ts';

/** @param url a PostgreSQL connection string; BullMQ's tables live there in the schema `bullmq` */
export function postgresBackend(url: string): QueueBackend {
  const settings = {
    connectionString: url,
    query_timeout: 10_000,
    settings: { search_path: 'bullmq', statement_timeout: 9_000 },
  };
  const ignore = () => {}; // BullMQ reports them
  const producer = openPool({ ...settings, max: 2, application_name: 'receiver queue' }, ignore);
  const consumer = openPool(
    { ...settings, max: 6, application_name: 'receiver worker queue' },
    ignore,
    PatientPool,
  );
  return {
    name: 'postgresql',
    prepare: async () => {
      await withClient(url, (client) => runMigrations(client));
    },
    openQueue: (options) =>
      opened<JobQueue>(() => new Queue(queueName, on(producer, options), createPostgresBackend as never)),
    openWorker: (process, options) =>
      opened<JobWorker>(() => {
        const all = on(consumer, { ...options, autorun: false });
        return new Worker(queueName, process, all, createPostgresBackend as never);
      }),
    ping: async () => {}, // it is the database, which is asked itself
    close: async () => {
      await Promise.all([producer.end(), consumer.end()]);
    },
  };
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
async function opened<T extends Openable>(open: () => T): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const opening = open();
    opening.on('error', () => {}); // it is raised below
    try {
      await opening.waitUntilReady();
      return opening;
    } catch (error) {
      await opening.close();
      if (tries === 10) throw error;
      await sleep(500);
    }
  }
}
