import type { Processor, Queue, QueueOptions, Worker, WorkerOptions } from 'bullmq';
import type { Circuit } from '../store/circuit.ts';
import type { FallbackStream } from './fallback-stream.ts';

/** What a job carries: the ids of the deliveries to apply, never what they say. */
type JobData = { ids: string[] };
type JobName = 'apply';

export type JobQueue = Queue<JobData, void, JobName>;
export type JobWorker = Worker<JobData, void, JobName>;
export type JobProcessor = Processor<JobData, void, JobName>;

/** The store that BullMQ keeps the queue in. Whatever it opens, `close` closes. */
export interface QueueBackend {
  name: 'redis' | 'postgresql';
  /** Of that store. */
  circuit: Circuit;
  /**
   * Resolves once the store answers, however long it is away.
   *
   * @throws AbortError
   */
  openQueue: (options: Omit<QueueOptions, 'connection'>, signal: AbortSignal) => Promise<JobQueue>;
  /** The same; the worker does not run yet. */
  openWorker: (
    process: JobProcessor,
    options: Omit<WorkerOptions, 'connection'>,
    signal: AbortSignal,
  ) => Promise<JobWorker>;
  /** Where a store of its own can hold deliveries while the database is away. */
  fallback?: FallbackStream;
  close: () => Promise<void>;
}

export const queueName = 'deliveries';
