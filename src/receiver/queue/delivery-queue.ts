import { once } from 'node:events';
import { Queue, Worker } from 'bullmq';
import type { Config } from '../../common/config/config.ts';
import { errorLogger, type Log } from '../../common/log.ts';
import { pause, withTimeout } from '../../common/timeouts.ts';
import { connectConsumer, connectProducer, keyPrefix } from './redis.ts';

interface Job {
  ids: readonly string[];
  families: readonly string[];
}

type RunJob = (families: readonly string[], ids: readonly string[]) => void;

/** Notifies workers through Redis, without payloads. Without it deliveries wait some seconds for the sweep. */
export interface DeliveryQueue {
  /** Resolves once Redis is there, or is away. */
  opening: Promise<unknown>;
  readonly isAvailable: boolean;
  /** Adds a job for the deliveries of a commit, and of those that follow soon. Never throws. */
  enqueue: (families: readonly string[], ids: readonly string[]) => Promise<void>;
  /** Gives the jobs to `run`. @returns takes no more jobs */
  startJobs: (run: RunJob) => () => Promise<void>;
  close: () => Promise<void>;
}

const name = 'deliveries';

interface QueueOptions {
  url: string;
  config: Config;
  /** Writes no settings of the queue into Redis. */
  isReadOnly?: boolean;
  log: Log;
}

// BullMQ's check of the version writes to the console, and fails for ever where the connection ends during it.
const sharedOptions = ({ queuePrefix }: Config) => ({
  prefix: keyPrefix(queuePrefix),
  skipVersionCheck: true,
});

/** It needs no Redis for a start, and recovers by itself. */
export function openQueue({ url, config, isReadOnly = false, log }: QueueOptions): DeliveryQueue {
  const { times, limits } = config;
  const report = errorLogger(log, 'warn', 'the queue failed and goes on; deliveries wait for the sweep');
  const producer = connectProducer(url, times.redisMs).on('error', report);
  const queue = new Queue<Job, void, 'merge'>(name, {
    ...sharedOptions(config),
    connection: producer,
    // The results are in the database.
    defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    streams: { events: { maxLen: 100 } },
    skipMetasUpdate: isReadOnly,
  }).on('error', report);
  const closing = new AbortController();
  let countedAt = Number.NEGATIVE_INFINITY;
  let isBacklogged = false;
  let next = { ids: [] as string[], families: new Set<string>() };
  let isWaiting = false;
  let adding: Promise<void> | undefined;
  let lastAddedAt = Number.NEGATIVE_INFINITY;

  const notify = async () => {
    const restMs = lastAddedAt + times.jobEveryMs - performance.now();
    await (restMs > 0 ? pause(restMs, closing.signal) : undefined);
    isWaiting = false;
    lastAddedAt = performance.now();
    const { ids, families } = next;
    next = { ids: [], families: new Set() };
    // Otherwise BullMQ waits for the connection.
    if (producer.status !== 'ready') return;
    try {
      if (performance.now() - countedAt > times.jobCountEveryMs) {
        countedAt = performance.now();
        isBacklogged = (await queue.getWaitingCount()) > limits.maxWaitingJobs;
      }
      if (!isBacklogged) await queue.add('merge', { ids, families: [...families] });
    } catch (error) {
      report(error);
    }
  };

  return {
    opening: once(producer, 'ready').catch(() => {}), // reported

    get isAvailable() {
      return producer.status === 'ready';
    },

    enqueue: async (families, ids) => {
      next.ids.push(...ids);
      for (const family of families) next.families.add(family);
      if (next.ids.length > 0 && !isWaiting) {
        isWaiting = true;
        adding = notify();
      }
      await adding;
    },

    startJobs: (run) => startJobs(url, config, run, report),

    close: async () => {
      closing.abort();
      await adding;
      await queue.close();
      producer.disconnect();
    },
  };
}

function startJobs(url: string, config: Config, run: RunJob, report: (error: unknown) => void) {
  const { jobCountEveryMs, jobCloseMs } = config.times;
  let isStopping = false;
  const connection = connectConsumer(url).on('error', report);
  const options = { ...sharedOptions(config), connection, runRetryDelay: jobCountEveryMs };
  const worker = new Worker<Job, void, 'merge'>(
    name,
    async ({ data }) => run(data.families, data.ids),
    options,
  );
  worker.on('error', (error) => {
    report(error);
    // It repeats what Redis refuses at once, so that it would spin.
    void worker.pause(true);
    setTimeout(() => {
      if (!isStopping) void worker.resume();
    }, jobCountEveryMs).unref();
  });
  return async () => {
    isStopping = true;
    // A Redis that hangs, or is away, is not waited for.
    await withTimeout(jobCloseMs, worker.pause()).catch(report);
    await worker.close(true);
    connection.disconnect();
  };
}
