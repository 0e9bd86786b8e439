import { once } from 'node:events';
import { Queue, Worker } from 'bullmq';
import { type Log, throttled } from '../../common/log.ts';
import { pause, withTimeout } from '../../common/timeouts.ts';
import { connectConsumer, connectProducer, keyPrefix } from './redis.ts';

/** The deliveries of commits: never payloads. */
interface Job {
  ids: readonly string[];
  families: readonly string[];
}

export interface QueueOptions {
  /** REDIS_URL. */
  url: string;
  /** QUEUE_PREFIX. */
  prefix: string;
  log: Log;
  /** The time limit of adding a job, in ms. */
  timeoutMs: number;
  /** While more jobs wait than this, none are added: no worker runs. */
  maxWaiting?: number;
  /** The least time between two jobs of this process: a job costs far more than an id in it. In ms. */
  jobEveryMs?: number;
  /** How often the jobs that wait are counted, and how long BullMQ's worker pauses after an error, in ms. */
  everyMs?: number;
  /** How long the end of the worker waits for Redis, in ms. */
  closeMs?: number;
  /** Writes no settings of the queue into Redis. */
  isReadOnly?: boolean;
}

/** A bell, in Redis: it tells the workers what was stored. Without it deliveries wait some seconds for the sweep. */
export interface DeliveryQueue {
  /** Resolves once Redis is there, or is known to be away. */
  opening: Promise<void>;
  readonly isAvailable: boolean;
  /** Adds a job for the deliveries of a commit, and of those that follow soon. It never throws. */
  enqueue: (ids: readonly string[], families: readonly string[]) => Promise<void>;
  /** Gives the jobs to `run`. @returns takes no more jobs */
  startJobs: (run: (ids: readonly string[], families: readonly string[]) => void) => () => Promise<void>;
  close: () => Promise<void>;
}

const name = 'deliveries';

/** Opens the queue; it needs no Redis for that, and recovers by itself. */
export function openQueue(options: QueueOptions): DeliveryQueue {
  const { url, log, timeoutMs } = options;
  const { maxWaiting = 1_000, everyMs = 1_000, jobEveryMs = 100, closeMs = 2_000 } = options;
  // BullMQ's check of the version writes to the console, and fails for ever where the connection ends during it.
  const shared = { prefix: keyPrefix(options.prefix), skipVersionCheck: true };
  const report = throttled((more, err) =>
    log.warn({ err, ...more }, 'the queue failed and goes on; deliveries wait for the sweep'),
  );
  const producer = connectProducer(url, timeoutMs).on('error', report);
  const queue = new Queue<Job, void, 'merge'>(name, {
    ...shared,
    connection: producer,
    // The results are in the database.
    defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    streams: { events: { maxLen: 100 } },
    skipMetasUpdate: options.isReadOnly ?? false,
  }).on('error', report);
  const closing = new AbortController();
  let countedAt = Number.NEGATIVE_INFINITY;
  let isLong = false;
  let next = { ids: [] as string[], families: new Set<string>() };
  let isDue = false;
  let ringing: Promise<void> | undefined;
  let rungAt = Number.NEGATIVE_INFINITY;

  const ring = async () => {
    const rest = rungAt + jobEveryMs - performance.now();
    await (rest > 0 ? pause(rest, closing.signal) : undefined);
    isDue = false;
    rungAt = performance.now();
    const { ids, families } = next;
    next = { ids: [], families: new Set() };
    // Otherwise BullMQ waits for the connection.
    if (producer.status !== 'ready') return;
    try {
      if (performance.now() - countedAt > everyMs) {
        countedAt = performance.now();
        isLong = (await queue.getWaitingCount()) > maxWaiting;
      }
      if (!isLong) await queue.add('merge', { ids, families: [...families] });
    } catch (error) {
      report(error);
    }
  };

  return {
    opening: once(producer, 'ready').then(
      () => {},
      () => {}, // reported
    ),

    get isAvailable() {
      return producer.status === 'ready';
    },

    enqueue: async (ids, families) => {
      next.ids.push(...ids);
      for (const family of families) next.families.add(family);
      if (next.ids.length > 0 && !isDue) {
        isDue = true;
        ringing = ring();
      }
      await ringing;
    },

    startJobs: (run) => {
      let isStopping = false;
      const consumer = connectConsumer(url).on('error', report);
      const worker = new Worker<Job, void, 'merge'>(
        name,
        async ({ data: { ids, families } }) => run(ids, families),
        { ...shared, connection: consumer, runRetryDelay: everyMs },
      );
      worker.on('error', (error) => {
        report(error);
        // It repeats what Redis refuses at once, so that it would spin.
        void worker.pause(true);
        setTimeout(() => {
          if (!isStopping) void worker.resume();
        }, everyMs).unref();
      });
      return async () => {
        isStopping = true;
        // A Redis that hangs, or is away, is not waited for.
        await withTimeout(closeMs, worker.pause()).catch(report);
        await worker.close(true);
        consumer.disconnect();
      };
    },

    close: async () => {
      closing.abort();
      await ringing;
      await queue.close();
      producer.disconnect();
    },
  };
}
