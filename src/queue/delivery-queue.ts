import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../log.ts';
import type { JobQueue, QueueBackend } from './backend.ts';
import { Gathering } from './gathering.ts';
import { heldJobId } from './held.ts';
import type { Jobs } from './jobs.ts';

/** Raised where the queue's store has not answered since the start. */
export class QueueAway extends Error {
  constructor() {
    super('The queue cannot be reached yet.');
    this.name = 'QueueAway';
  }
}

const watchEveryMs = 1_000;
const crowd = 1_000;
const jobEveryMs = 40;

/** The producer's end of the queue. */
export class DeliveryQueue {
  private bullmq: JobQueue | undefined;
  private readonly backend: QueueBackend;
  private crowded = false;
  private watching: NodeJS.Timeout | undefined;
  private readonly opening: Promise<void>;
  private readonly ids = new Gathering<string>((ids) => this.addJob(ids), jobEveryMs);

  private constructor(backend: QueueBackend, log: Log) {
    this.backend = backend;
    // What became of a delivery stands in its row, so finished jobs need not be kept.
    const defaultJobOptions = { removeOnComplete: true, removeOnFail: true };
    this.opening = backend.openQueue({ defaultJobOptions }).then(
      (bullmq) => {
        bullmq.on('error', (error) => log.warn({ err: error }, 'the queue does not answer'));
        this.bullmq = bullmq;
        this.watching = setInterval(() => void this.watch(bullmq), watchEveryMs).unref();
      },
      (error) => log.error({ err: error }, 'the queue could not be opened'),
    );
  }

  /** Waits a little for the queue's store, and goes on without it: the sweep makes up for what it misses. */
  static async open(backend: QueueBackend, log: Log): Promise<DeliveryQueue> {
    const queue = new DeliveryQueue(backend, log);
    await Promise.race([queue.opening, sleep(2_000, undefined, { ref: false })]);
    if (!queue.bullmq) log.warn({ backend: backend.name }, 'the queue is away; work waits until it is back');
    return queue;
  }

  /**
   * Adds a job that applies these deliveries and those that come within the same milliseconds, unless so many
   * jobs wait already that the sweep had better find them when their turn comes: the queue stays small however
   * long the workers are away.
   *
   * @throws QueueAway, or the store's error
   */
  enqueue(ids: readonly string[]): Promise<void> {
    return this.ids.add(ids);
  }

  /**
   * Adds one job that holds these deliveries whole, and resolves once it is durable.
   *
   * @throws QueueAway, or the store's error
   */
  async hold(deliveries: Jobs['store']['deliveries']): Promise<void> {
    await this.opened().add('store', { deliveries }, { jobId: heldJobId(deliveries.length) });
    await this.backend.refuge?.persisted();
  }

  /** BullMQ's own object. */
  opened(): JobQueue {
    if (!this.bullmq) throw new QueueAway();
    return this.bullmq;
  }

  async close(): Promise<void> {
    clearInterval(this.watching);
    await this.bullmq?.close();
  }

  private async addJob(ids: string[]): Promise<void> {
    if (this.crowded) return;
    await this.opened().add('apply', { ids });
  }

  private async watch(bullmq: JobQueue): Promise<void> {
    // A queue that does not answer is no reason to stop trying.
    this.crowded = await bullmq.getJobCountByTypes('waiting').then(
      (waiting) => waiting > crowd,
      () => false,
    );
  }
}
