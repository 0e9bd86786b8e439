import {
  createPostgresBackend,
  type Processor,
  Queue,
  type QueueOptions,
  runMigrations,
  Worker,
  type WorkerOptions,
} from 'bullmq';
import pg from 'pg';
import type { JobData, JobName } from './jobs.ts';
import { connectRedis } from './redis.ts';

export type JobQueue = Queue<JobData, void, JobName>;
export type JobWorker = Worker<JobData, void, JobName>;
export type JobProcessor = Processor<JobData, void, JobName>;

/** The store that BullMQ keeps the queue in. Whatever it opens, `close` closes. */
export interface QueueBackend {
  name: 'redis' | 'postgresql';
  /** Creates or upgrades what BullMQ needs there. */
  prepare: () => Promise<void>;
  openQueue: (options?: Omit<QueueOptions, 'connection'>) => JobQueue;
  openWorker: (process: JobProcessor, options: Omit<WorkerOptions, 'connection'>) => JobWorker;
  /** Raises an error if the store does not answer. */
  ping: () => Promise<void>;
  close: () => Promise<void>;
}

const queueName = 'deliveries';

/** @param url REDIS_URL, see `connectRedis` */
export function redisBackend(url: string): QueueBackend {
  const producer = connectRedis(url, 'producer');
  const consumer = connectRedis(url, 'consumer');
  for (const client of [producer, consumer]) client.on('error', () => {}); // BullMQ reports them
  // In braces, so that a Redis Cluster keeps all keys of the queue on one node.
  const prefix = '{receiver}';
  return {
    name: 'redis',
    prepare: async () => {},
    openQueue: (options) =>
      new Queue(queueName, { ...options, prefix, connection: producer, skipWaitingForReady: true }),
    openWorker: (process, options) =>
      new Worker(queueName, process, { ...options, prefix, connection: consumer }),
    ping: async () => {
      await producer.ping();
    },
    close: async () => {
      producer.disconnect();
      consumer.disconnect();
    },
  };
}

/** @param url a PostgreSQL connection string; BullMQ's tables live there in the schema `bullmq` */
export function postgresBackend(url: string): QueueBackend {
  const connection = (name: string, max: number) => ({
    connectionString: url,
    max,
    connectionTimeoutMillis: 2_000,
    application_name: name,
  });
  return {
    name: 'postgresql',
    prepare: async () => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      try {
        await runMigrations(client);
      } finally {
        await client.end();
      }
    },
    // BullMQ's types name the backend; what we use of a queue is the same on both.
    openQueue: (options) =>
      new Queue(
        queueName,
        { ...options, connection: connection('receiver queue', 2) },
        createPostgresBackend,
      ) as unknown as JobQueue,
    openWorker: (process, options) =>
      new Worker<JobData, void, JobName>(
        queueName,
        process,
        { ...options, connection: connection('receiver worker queue', 4) } as never,
        createPostgresBackend as never,
      ),
    ping: async () => {}, // it is the database, which is asked itself
    close: async () => {},
  };
}
