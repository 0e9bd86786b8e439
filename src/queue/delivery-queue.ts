import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../common/log.ts';
import type { JobData, JobQueue, QueueBackend } from './backend.ts';

/** A delivery, as far as the queue needs it. */
export interface QueuedDelivery {
  id: string;
  family: string;
}

/** The job that applies these deliveries. */
export const jobOf = (deliveries: readonly QueuedDelivery[]): JobData => ({
  ids: deliveries.map(({ id }) => id),
  families: [...new Set(deliveries.map(({ family }) => family))],
});

/** Raised until the queue's store is available for the first time. */
export class QueueUnavailable extends Error {
  constructor() {
    super('The queue is not open yet.');
    this.name = 'QueueUnavailable';
  }
}

const lookEveryMs = 1_000;
const maxWaiting = 1_000;
const jobEveryMs = 40;
export const idsPerJob = 500;
const uniqueForMs = 10_000;

export type DeliveryQueue = ReturnType<typeof openDeliveryQueue>;

/**
 * The producer's end of the queue. It opens once its store is available, however late that is. Until then, and while
 * the store is unavailable, deliveries wait for the sweep.
 */
export function openDeliveryQueue(
  { circuit, openQueue, findObstacle }: Pick<QueueBackend, 'circuit' | 'openQueue' | 'findObstacle'>,
  log: Log,
) {
  const closing = new AbortController();
  const { signal } = closing;
  let opened: JobQueue | undefined;
  let isLong = false;
  let obstacle: string | undefined;

  /**
   * BullMQ's own queue.
   *
   * @throws QueueUnavailable
   */
  const bullmq = (): JobQueue => {
    if (!opened) throw new QueueUnavailable();
    return opened;
  };

  /**
   * The number of jobs that wait for a worker.
   *
   * @throws QueueUnavailable, or the store's error
   */
  const countWaiting = async () => bullmq().getJobCountByTypes('waiting', 'delayed', 'prioritized');

  const findObstacleAgain = async () => {
    obstacle = await findObstacle().catch(() => obstacle);
  };
  const checkLength = async () => {
    if (!opened || obstacle || circuit.isOpen) return;
    // While the length is unknown, jobs are added.
    isLong = await countWaiting().then(
      (jobs) => jobs > maxWaiting,
      () => false,
    );
  };
  /** Each on its own: a count may wait for a lock for seconds. */
  const repeat = async (look: () => Promise<void>) => {
    while (!signal.aborted) {
      await look();
      await sleep(lookEveryMs, undefined, { ref: false, signal }).catch(() => {});
    }
  };

  const open = async () => {
    // The row of a delivery has its result, so finished jobs are removed.
    const defaultJobOptions = { removeOnComplete: true, removeOnFail: true };
    try {
      opened = await openQueue({ defaultJobOptions }, signal);
      opened.on('error', (error) => void circuit.probeAfter(error));
    } catch (error) {
      if (!signal.aborted) log.error({ err: error }, 'the queue could not be opened');
    }
  };

  const addJob = async (deliveries: QueuedDelivery[]) => {
    if (isLong || obstacle || circuit.isOpen) return;
    try {
      await bullmq().add('apply', jobOf(deliveries));
    } catch (error) {
      if (!(error instanceof QueueUnavailable)) void circuit.probeAfter(error);
      throw error;
    }
  };

  const opening = open();
  for (const look of [findObstacleAgain, checkLength]) void repeat(look);
  return {
    /** Resolves once the queue is open. */
    opening,
    bullmq,
    countWaiting,
    /** Why jobs cannot be used, see `QueueBackend`: a worker then takes none, and applies deliveries without jobs. */
    get obstacle(): string | undefined {
      return obstacle;
    },
    /**
     * Adds a job that applies these deliveries and those enqueued within the same milliseconds. While the queue is long,
     * no job is added and the sweep finds them later: so the queue stays small however long no worker runs. While there is
     * an obstacle, none is added either.
     *
     * @throws QueueUnavailable, or the store's error
     */
    enqueue: createBatcher(addJob, jobEveryMs),
    /**
     * Adds jobs for deliveries that the sweep has found.
     *
     * @throws QueueUnavailable, or the store's error
     */
    enqueueOverdue: async (deliveries: readonly QueuedDelivery[]): Promise<void> => {
      const period = Math.floor(Date.now() / uniqueForMs);
      const jobs = [];
      for (let at = 0; at < deliveries.length; at += idsPerJob) {
        const chunk = deliveries.slice(at, at + idsPerJob);
        // A repeated id prevents a second job while the first one waits. It contains the time, because the id of a job
        // that was lost from every list stays in use for ever.
        const jobId = `swept-${period}-${chunk[0]!.id}`;
        jobs.push({ name: 'apply' as const, data: jobOf(chunk), opts: { jobId } });
      }
      if (jobs.length > 0) await bullmq().addBulk(jobs);
    },
    close: async (): Promise<void> => {
      closing.abort();
      await opening;
      await opened?.close();
    },
  };
}

/**
 * Sends items in batches, at most one batch per interval. The first is sent at once; items added before the next batch
 * is due wait for it.
 *
 * @returns a function that adds items; it resolves once they are sent, and raises the error of `send`
 */
export function createBatcher<Item>(
  send: (items: Item[]) => Promise<void>,
  everyMs: number,
): (items: readonly Item[]) => Promise<void> {
  const pending: Item[] = [];
  let next: Promise<void> | undefined;
  let lastSent = Number.NEGATIVE_INFINITY;
  const sendWhenDue = async () => {
    const pause = lastSent + everyMs - performance.now();
    await (pause > 0 ? sleep(pause) : undefined);
    next = undefined;
    lastSent = performance.now();
    await send(pending.splice(0));
  };
  return (items) => {
    pending.push(...items);
    next ??= sendWhenDue();
    return next;
  };
}
