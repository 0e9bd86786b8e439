import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../log.ts';
import type { JobQueue, QueueBackend } from './backend.ts';

/** Raised where the queue's store has not answered since the start. */
export class QueueAway extends Error {
  constructor() {
    super('The queue cannot be reached yet.');
    this.name = 'QueueAway';
  }
}

/** The producer's end of the queue. */
export class DeliveryQueue {
  private bullmq: JobQueue | undefined;
  private readonly opening: Promise<void>;

  private constructor(backend: QueueBackend, log: Log) {
    // What became of a delivery stands in its row, so finished jobs need not be kept.
    const defaultJobOptions = { removeOnComplete: true, removeOnFail: true };
    this.opening = backend.openQueue({ defaultJobOptions }).then(
      (bullmq) => {
        bullmq.on('error', (error) => log.warn({ err: error }, 'the queue does not answer'));
        this.bullmq = bullmq;
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
   * Adds one job that applies these deliveries.
   *
   * @throws QueueAway, or the store's error
   */
  async enqueue(ids: string[]): Promise<void> {
    await this.opened().add('apply', { ids });
  }

  /** BullMQ's own object. */
  opened(): JobQueue {
    if (!this.bullmq) throw new QueueAway();
    return this.bullmq;
  }

  async close(): Promise<void> {
    await this.bullmq?.close();
  }
}
