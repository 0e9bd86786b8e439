import type { Log } from '../log.ts';
import type { JobQueue, QueueBackend } from './backend.ts';
import { Batcher } from './batcher.ts';

/** Raised where the queue's store has not answered since the start. */
export class QueueAway extends Error {
  constructor() {
    super('The queue cannot be reached yet.');
    this.name = 'QueueAway';
  }
}

const countEveryMs = 1_000;
const mostWaiting = 1_000;
const jobEveryMs = 40;

/**
 * The producer's end of the queue. It opens as soon as its store answers, however late that is; until then, and
 * whenever the store is away, deliveries are left to the sweep.
 */
export class DeliveryQueue {
  /** Resolves once the queue is open. */
  readonly opening: Promise<void>;
  private readonly backend: QueueBackend;
  private readonly log: Log;
  private readonly closing = new AbortController();
  private bullmq: JobQueue | undefined;
  private isLong = false;
  private counting: NodeJS.Timeout | undefined;
  private readonly ids = new Batcher<string>((ids) => this.addJob(ids), jobEveryMs);

  constructor(backend: QueueBackend, log: Log) {
    this.backend = backend;
    this.log = log;
    this.opening = this.open();
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

  /** Which store it is in. */
  get store(): QueueBackend['name'] {
    return this.backend.name;
  }

  /**
   * BullMQ's own object.
   *
   * @throws QueueAway
   */
  opened(): JobQueue {
    if (!this.bullmq) throw new QueueAway();
    return this.bullmq;
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.opening;
    clearInterval(this.counting);
    await this.bullmq?.close();
  }

  private async open(): Promise<void> {
    // What became of a delivery stands in its row, so finished jobs need not be kept.
    const defaultJobOptions = { removeOnComplete: true, removeOnFail: true };
    try {
      const bullmq = await this.backend.openQueue({ defaultJobOptions }, this.closing.signal);
      bullmq.on('error', (error) => void this.backend.circuit.suspect(error));
      this.bullmq = bullmq;
      this.counting = setInterval(() => void this.count(bullmq), countEveryMs).unref();
    } catch (error) {
      if (!this.closing.signal.aborted) this.log.error({ err: error }, 'the queue could not be opened');
    }
  }

  private async addJob(ids: string[]): Promise<void> {
    const { circuit } = this.backend;
    if (this.isLong || circuit.isOpen) return;
    try {
      await this.opened().add('apply', { ids });
    } catch (error) {
      if (!(error instanceof QueueAway)) void circuit.suspect(error);
      throw error;
    }
  }

  private async count(bullmq: JobQueue): Promise<void> {
    if (this.backend.circuit.isOpen) return;
    // A queue that does not answer is no reason to stop trying.
    this.isLong = await bullmq.getJobCountByTypes('waiting', 'delayed', 'prioritized').then(
      (jobs) => jobs > mostWaiting,
      () => false,
    );
  }
}
