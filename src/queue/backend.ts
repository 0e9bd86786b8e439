import type { Processor, Queue, QueueOptions, Worker, WorkerOptions } from 'bullmq';
import type { Circuit } from '../store/circuit.ts';
import type { FallbackStream } from './fallback-stream.ts';

/** A job carries the ids of the deliveries to apply and the names of their families, never their payloads. */
export interface JobData {
  ids: string[];
  /** Undefined in a job of a former version: any. */
  families?: string[];
}
type JobName = 'apply';

export type JobQueue = Queue<JobData, void, JobName>;
export type JobWorker = Worker<JobData, void, JobName>;

/** Applies the deliveries of a job, given its id. */
export type ApplyJob = (data: JobData, job: string) => Promise<void>;

/** The store of BullMQ's queue. `close` closes everything that it has opened. */
export interface QueueBackend {
  name: 'redis' | 'postgresql';
  /** The circuit breaker of that store. */
  circuit: Circuit;
  /**
   * Resolves once the store is available, however late that is.
   *
   * @throws AbortError
   */
  openQueue: (options: Omit<QueueOptions, 'connection'>, signal: AbortSignal) => Promise<JobQueue>;
  /** The same; the worker does not run yet. */
  openWorker: (
    apply: ApplyJob,
    options: Omit<WorkerOptions, 'connection'>,
    signal: AbortSignal,
  ) => Promise<JobWorker>;
  /**
   * Whether jobs are slow, because the queue's tables are full of deleted rows that PostgreSQL does not remove, as while an
   * old snapshot sees them; undefined: the queue has no tables.
   *
   * @throws the database's error
   */
  isBloated?: () => Promise<boolean>;
  /** Stores deliveries while PostgreSQL is unavailable; undefined where the queue is in PostgreSQL. */
  fallback?: FallbackStream;
  close: () => Promise<void>;
}

export function createProcessor(apply: ApplyJob): Processor<JobData, void, JobName> {
  return async ({ name, data, id }) => {
    // Other names belong to other versions.
    if (name === 'apply') await apply(data, id ?? '');
  };
}
