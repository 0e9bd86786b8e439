import type { Processor, Queue, QueueOptions, Worker, WorkerOptions } from 'bullmq';
import type { Circuit } from '../receiver/store/circuit.ts';
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
   * Why jobs cannot be used now, although the deliveries can be applied, in words; undefined: they can. It is called once a
   * second, at most once at the same time.
   *
   * @throws the store's error: then it is not known
   */
  findObstacle: () => Promise<string | undefined>;
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
