import type pg from 'pg';
import type { Log } from '../log.ts';
import { describeRefusal, isRefusedData } from '../store/faults.ts';
import type { Delivery, Receipt } from './delivery.ts';
import { GroupCommit, Overloaded } from './group-commit.ts';
import { insertDeliveries } from './insert-deliveries.ts';
import { Unavailable } from './unavailable.ts';

/** Raised when PostgreSQL refuses a delivery's own data. */
export class Refused extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'Refused';
  }
}

export interface InboxOptions {
  pool: pg.Pool;
  /** Hands the new deliveries of a commit to the queue. */
  enqueue: (ids: string[]) => Promise<void>;
  log: Log;
}

/** Where deliveries become durable, before they are acknowledged. */
export class Inbox {
  private readonly options: InboxOptions;
  private readonly commits: GroupCommit<Delivery, Receipt>;
  private readonly enqueuing = new Set<Promise<void>>();

  constructor(options: InboxOptions) {
    this.options = options;
    this.commits = new GroupCommit({
      commit: (deliveries) => this.commit(deliveries),
      isFaultOfAnItem: isRefusedData,
      weigh: (delivery) => delivery.json.length,
      maxWeight: 4 * 1024 * 1024,
      maxItems: 500,
      maxWaiting: 5_000,
      maxWaitingWeight: 64 * 1024 * 1024,
    });
  }

  /**
   * Resolves once the delivery is durable, with whether it is new.
   *
   * @throws Unavailable when it is not durable; Refused when it never can be
   */
  async append(delivery: Delivery): Promise<Receipt> {
    try {
      return await this.commits.append(delivery);
    } catch (error) {
      if (isRefusedData(error)) throw new Refused(describeRefusal(error));
      if (!(error instanceof Overloaded)) {
        this.options.log.error({ err: error, delivery: delivery.id }, 'a delivery could not be stored');
      }
      throw new Unavailable(error);
    }
  }

  /** Resolves once every delivery that was appended is durable and has been handed on. */
  async drained(): Promise<void> {
    await this.commits.drained();
    await Promise.all(this.enqueuing);
  }

  private async commit(deliveries: Delivery[]): Promise<Receipt[]> {
    const receipts = await insertDeliveries(this.options.pool, deliveries);
    const fresh = deliveries.filter((_, index) => receipts[index] === 'accepted');
    if (fresh.length > 0) this.handOn(fresh.map((delivery) => delivery.id));
    return receipts;
  }

  /** The answer does not wait for the queue: what it misses, the sweep finds. */
  private handOn(ids: string[]): void {
    const enqueued = this.options
      .enqueue(ids)
      .catch((error) => {
        this.options.log.warn({ err: error, count: ids.length }, 'deliveries wait for the sweep');
      })
      .finally(() => this.enqueuing.delete(enqueued));
    this.enqueuing.add(enqueued);
  }
}
