import type pg from 'pg';
import type { Log } from '../log.ts';
import { describeRefusal, isRefusedData } from '../store/faults.ts';
import { Circuit, StoreAway } from './circuit.ts';
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

/** A second store that can hold deliveries while PostgreSQL is away. */
export interface Refuge {
  /** Resolves once they are durable there. */
  hold: (deliveries: Delivery[]) => Promise<void>;
  ping: () => Promise<unknown>;
}

/** Told of what the inbox does with its stores. */
export interface InboxObserver {
  committed: (store: string, deliveries: number, seconds: number) => void;
  circuit: (store: string, away: boolean) => void;
}

export interface InboxOptions {
  pool: pg.Pool;
  /** Hands the new deliveries of a commit to the queue. */
  enqueue: (ids: string[]) => Promise<void>;
  refuge?: Refuge | undefined;
  observe?: InboxObserver | undefined;
  log: Log;
}

// Both in a row leave a request waiting for less than two seconds.
const databaseTimeoutMs = 1_000;
const refugeTimeoutMs = 800;

/** Where deliveries become durable, before they are acknowledged. */
export class Inbox {
  private readonly options: InboxOptions;
  private readonly commits: GroupCommit<Delivery, Receipt>;
  private readonly database: Circuit;
  private readonly refuge: Circuit | undefined;
  private readonly enqueuing = new Set<Promise<void>>();

  constructor(options: InboxOptions) {
    this.options = options;
    const { pool, refuge, observe, log } = options;
    this.commits = new GroupCommit({
      commit: (deliveries) => this.commit(deliveries),
      isFaultOfAnItem: isRefusedData,
      weigh: (delivery) => delivery.body.length,
      maxWeight: 4 * 1024 * 1024,
      maxItems: 500,
      maxWaiting: 5_000,
      maxWaitingWeight: 64 * 1024 * 1024,
    });
    const report = (store: string) => (away: boolean, err?: unknown) => {
      observe?.circuit(store, away);
      if (away) log.error({ err, store }, 'a store is away');
      else log.warn({ store }, 'a store is back');
    };
    observe?.circuit('PostgreSQL', false);
    if (refuge) observe?.circuit('Redis', false);
    this.database = new Circuit({
      store: 'PostgreSQL',
      timeoutMs: databaseTimeoutMs,
      probe: () => pool.query({ text: 'select 1', query_timeout: databaseTimeoutMs } as pg.QueryConfig),
      isOutage: (error) => !isRefusedData(error),
      onChange: report('PostgreSQL'),
    });
    this.refuge =
      refuge &&
      new Circuit({
        store: 'Redis',
        timeoutMs: refugeTimeoutMs,
        probe: refuge.ping,
        isOutage: () => true,
        onChange: report('Redis'),
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
      if (!(error instanceof Overloaded || error instanceof StoreAway)) {
        this.options.log.error({ err: error, delivery: delivery.id }, 'a delivery could not be stored');
      }
      throw new Unavailable(error);
    }
  }

  /** Resolves once every delivery that was appended is durable and has been handed on. */
  async drained(): Promise<void> {
    await this.commits.drained();
    await Promise.all(this.enqueuing);
    this.database.close();
    this.refuge?.close();
  }

  private async commit(deliveries: Delivery[]): Promise<Receipt[]> {
    try {
      return await this.database.run(() => this.timed('PostgreSQL', deliveries, this.store));
    } catch (error) {
      if (!(error instanceof StoreAway && this.refuge)) throw error;
      return await this.refuge.run(() => this.timed('Redis', deliveries, this.shelter));
    }
  }

  private async timed(
    store: string,
    deliveries: Delivery[],
    commit: (deliveries: Delivery[]) => Promise<Receipt[]>,
  ): Promise<Receipt[]> {
    const started = performance.now();
    const receipts = await commit.call(this, deliveries);
    this.options.observe?.committed(store, deliveries.length, (performance.now() - started) / 1000);
    return receipts;
  }

  private async store(deliveries: Delivery[]): Promise<Receipt[]> {
    const receipts = await insertDeliveries(this.options.pool, deliveries, databaseTimeoutMs);
    const fresh = deliveries.filter((_, index) => receipts[index] === 'accepted');
    if (fresh.length > 0) this.handOn(fresh.map((delivery) => delivery.id));
    return receipts;
  }

  /** Whether they are new is not known there; of copies in one commit the first counts as new. */
  private async shelter(deliveries: Delivery[]): Promise<Receipt[]> {
    await this.options.refuge!.hold(deliveries);
    const seen = new Set<string>();
    return deliveries.map(({ id }) => {
      const isNew = !seen.has(id);
      seen.add(id);
      return isNew ? 'accepted' : 'duplicate';
    });
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
