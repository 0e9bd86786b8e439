import { once, setMaxListeners } from 'node:events';
import { DelayedError, ErrorCode, type Job, Queue, WaitingError, Worker } from 'bullmq';
import type { Config } from '../../common/config/config.ts';
import { errorLogger, type Log } from '../../common/log.ts';
import { pause, withDeadline, withTimeout } from '../../common/timeouts.ts';
import { OtherFamilies } from '../store/errors.ts';
import { connectConsumer, connectProducer, keyPrefix } from './redis.ts';

/** Deliveries of a job cannot be merged now. */
export class JobPostponed extends Error {
  override name = 'JobPostponed';
  readonly pauseMs: number;
  constructor(reason: string, pauseMs: number) {
    super(reason);
    this.pauseMs = pauseMs;
  }
}

/**
 * Resolves once the deliveries of a family are applied.
 *
 * @param signal aborted where the job ends otherwise
 * @throws UnrecoverableError: PostgreSQL refuses their data; OtherFamilies; JobPostponed
 */
type RunJob = (family: string, ids: readonly string[], signal: AbortSignal) => Promise<void>;

interface JobData {
  ids: readonly string[];
  family: string;
}

/**
 * Jobs for workers, in Redis: the ids of deliveries without payloads. A job ends when its deliveries are applied. Nothing depends
 * on a job: without it deliveries wait some seconds for the sweep.
 */
export interface DeliveryQueue {
  /** Resolves once Redis is there, or is away. */
  opening: Promise<unknown>;
  readonly isAvailable: boolean;
  /** Adds a job for the deliveries of a family in a commit, and in those that follow soon. Never throws. */
  enqueue: (family: string, ids: readonly string[]) => Promise<void>;
  /** Gives the jobs to `run`. @returns takes no more jobs, and hands back those that run */
  startJobs: (run: RunJob) => () => Promise<void>;
  close: () => Promise<void>;
}

const name = 'deliveries';
const maxPauseMs = 60_000;

/** Kept for dashboards: an hour, or a thousand. */
const kept = { age: 3_600, count: 1_000 };
const keepOptions = { removeOnComplete: kept, removeOnFail: kept };

/** With `pauseOf` an hour: an outage fails no job. */
const jobOptions = { ...keepOptions, attempts: 60, backoff: { type: 'custom' }, stackTraceLimit: 1 };

/** In milliseconds: grows, since an outage may last; `pending_deliveries.next_at` grows in the same way. */
const pauseOf = (attempts: number, error?: Error): number => {
  const ownMs = error instanceof JobPostponed ? error.pauseMs : 0;
  return Math.ceil(Math.min(Math.max(ownMs, 1_000 * 2 ** (attempts - 1)), maxPauseMs));
};

interface QueueOptions {
  url: string;
  config: Config;
  log: Log;
}

// BullMQ's check of the version writes to the console, and fails for ever where the connection ends during it.
const sharedOptions = ({ queuePrefix }: Config) => ({
  prefix: keyPrefix(queuePrefix),
  skipVersionCheck: true,
});

/** It needs no Redis for a start, and recovers by itself. */
export function openQueue({ url, config, log }: QueueOptions): DeliveryQueue {
  const { times } = config;
  const report = errorLogger(log, 'warn', 'the queue failed and goes on; deliveries wait for the sweep');
  const producer = connectProducer(url, times.redisMs).on('error', report);
  const queue = new Queue<JobData, void, 'merge'>(name, {
    ...sharedOptions(config),
    connection: producer,
    defaultJobOptions: jobOptions,
    streams: { events: { maxLen: 100 } },
  }).on('error', report);
  const closing = new AbortController();
  /** While it has any, `notify` waits. */
  let next = new Map<string, readonly string[]>();
  let adding: Promise<void> | undefined;
  let nextAt = 0;

  const notify = async () => {
    const restMs = nextAt - performance.now();
    await (restMs > 0 ? pause(restMs, closing.signal) : undefined);
    const added = [...next.values()].flat().length;
    nextAt = performance.now() + Math.min(added * times.jobMsPerDelivery, times.jobEveryMs);
    const jobs = Array.from(next, ([family, ids]) => ({ name: 'merge' as const, data: { ids, family } }));
    next = new Map();
    // Otherwise BullMQ waits for the connection.
    if (producer.status !== 'ready') return;
    try {
      await queue.addBulk(jobs);
    } catch (error) {
      report(error);
    }
  };

  return {
    opening: once(producer, 'ready').catch(() => {}), // reported

    get isAvailable() {
      return producer.status === 'ready';
    },

    enqueue: async (family, ids) => {
      const isWaiting = next.size > 0;
      next.set(family, [...(next.get(family) ?? []), ...ids]);
      if (!isWaiting) adding = notify();
      await adding;
    },

    startJobs: (run) => startJobs({ url, config, log }, run, report),

    close: async () => {
      closing.abort();
      await adding;
      await queue.close();
      producer.disconnect();
    },
  };
}

/** Errors of a job that Redis lost, or gave to another worker: no outage. */
const isOfLostJob = ({ code, message }: Error & { code?: unknown }): boolean =>
  lostJobCodes.has(code) || message.startsWith('could not renew lock');

const { JobNotExist, JobLockNotExist, JobNotInState, JobLockMismatch } = ErrorCode;
const lostJobCodes = new Set<unknown>([JobNotExist, JobLockNotExist, JobNotInState, JobLockMismatch]);

function startJobs(
  { url, config, log }: QueueOptions,
  run: RunJob,
  report: (error: unknown) => void,
): () => Promise<void> {
  const { jobErrorMs, jobCloseMs, jobMs, jobLockMs, foreignJobMs } = config.times;
  const reportLost = errorLogger(log, 'debug', 'a job was lost, or another worker has it');
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);

  const runJob = async (job: Job<JobData, void, 'merge'>, token?: string) => {
    const { ids, family }: Partial<JobData> = job.data;
    // Redis has lost the data of the job.
    if (!ids || !family) return;
    try {
      await withDeadline(jobMs, stopping.signal, (signal) => run(family, ids, signal));
    } catch (error) {
      // Neither counts as an attempt.
      if (stopping.signal.aborted) {
        await job.moveToWait(token);
        throw new WaitingError();
      }
      if (!(error instanceof OtherFamilies)) throw error;
      await job.moveToDelayed(Date.now() + foreignJobMs, token);
      throw new DelayedError();
    }
  };

  const connection = connectConsumer(url).on('error', report);
  const worker = new Worker<JobData, void, 'merge'>(name, runJob, {
    ...sharedOptions(config),
    ...keepOptions,
    connection,
    // Jobs that wait share a merge.
    concurrency: 100,
    lockDuration: jobLockMs,
    stalledInterval: jobLockMs,
    // A job that is done again does no harm; one of a family that no worker knows ends some time.
    maxStalledCount: 1_000,
    maxStartedAttempts: 1_000,
    runRetryDelay: jobErrorMs,
    settings: { backoffStrategy: (attempts, _type, error) => pauseOf(attempts, error) },
  });
  worker.on('error', (error) => {
    if (isOfLostJob(error)) return reportLost(error);
    report(error);
    // It repeats what Redis refuses at once, so that it would spin.
    void worker.pause(true);
    setTimeout(() => {
      if (!stopping.signal.aborted) void worker.resume();
    }, jobErrorMs).unref();
  });
  return async () => {
    const paused = worker.pause();
    stopping.abort();
    // A Redis that hangs, or is away, is not waited for.
    await withTimeout(jobCloseMs, paused).catch(report);
    await withTimeout(jobCloseMs, worker.close(true)).catch(report);
    connection.disconnect();
  };
}
