import type { Processor, Queue, QueueOptions, Worker, WorkerOptions } from 'bullmq';
import type { JobData, JobName } from './jobs.ts';
import type { RedisDurability } from './redis-durability.ts';

export type JobQueue = Queue<JobData, void, JobName>;
export type JobWorker = Worker<JobData, void, JobName>;
export type JobProcessor = Processor<JobData, void, JobName>;

/** The store that BullMQ keeps the queue in. Whatever it opens, `close` closes. */
export interface QueueBackend {
  name: 'redis' | 'postgresql';
  /** Creates or upgrades what BullMQ needs there. */
  prepare: () => Promise<void>;
  /** Resolves once the store answers, however long it is away. */
  openQueue: (options: Omit<QueueOptions, 'connection'>) => Promise<JobQueue>;
  /** The worker does not run yet. */
  openWorker: (process: JobProcessor, options: Omit<WorkerOptions, 'connection'>) => Promise<JobWorker>;
  /** Where a store of its own can hold deliveries while the database is away. */
  refuge?: {
    /** Resolves once what was written before is as durable as this store can make it. */
    persisted: () => Promise<void>;
    /** What its settings mean for deliveries that wait there. */
    durability: () => Promise<RedisDurability>;
  };
  /** Raises an error if the store does not answer. */
  ping: () => Promise<void>;
  close: () => Promise<void>;
}

export const queueName = 'deliveries';
