import type pg from 'pg';
import type { Log } from '../common/log.ts';
import type { Observer } from '../common/observer.ts';
import { type Circuit, StoreUnavailable } from '../store/circuit.ts';
import { databaseTimeoutMs } from '../store/circuits.ts';
import { describeRefusal, isConflict, isRefusal } from '../store/faults.ts';
import { type AppendResult, type Delivery, NotStorable, Unavailable } from './delivery.ts';
import { GroupCommit, Overloaded } from './group-commit.ts';
import { insertDeliveries } from './insert-deliveries.ts';
import { DataRefused } from './rejection.ts';

/** The fallback store, for deliveries while PostgreSQL is unavailable. */
export interface Fallback {
  circuit: Circuit;
  /** Resolves once they are durable there. */
  append: (deliveries: readonly Delivery[]) => Promise<void>;
}

export interface InboxOptions {
  pool: pg.Pool;
  /** PostgreSQL's. */
  circuit: Circuit;
  /** Enqueues the new deliveries of a commit. */
  enqueue: (deliveries: Pick<Delivery, 'id' | 'family'>[]) => Promise<void>;
  fallback?: Fallback | undefined;
  observe?: Pick<Observer, 'committed'> | undefined;
  log: Log;
}

/** Makes deliveries durable before they are acknowledged. */
export class Inbox {
  private readonly options: InboxOptions;
  private readonly commits: GroupCommit<Delivery, AppendResult>;
  private readonly enqueuing = new Set<Promise<void>>();

  constructor(options: InboxOptions) {
    this.options = options;
    this.commits = new GroupCommit({
      commit: (deliveries) => this.commit(deliveries),
      // The circuit turns every fault of the store into StoreUnavailable: what else there is, one delivery has caused.
      isFaultOfAnItem: (error) => !(error instanceof StoreUnavailable),
      weigh: (delivery) => delivery.body.length,
      maxWeight: 4 * 1024 * 1024,
      maxItems: 500,
      maxWaiting: 5_000,
      maxWaitingWeight: 64 * 1024 * 1024,
    });
  }

  /**
   * Resolves once the delivery is durable.
   *
   * @throws Unavailable while no store is available; DataRefused if PostgreSQL rejects its data; NotStorable
   */
  async append(delivery: Delivery): Promise<AppendResult> {
    try {
      return await this.commits.append(delivery);
    } catch (error) {
      if (error instanceof Overloaded || error instanceof StoreUnavailable)
        throw new Unavailable(error, delivery.id);
      if (isRefusal(error) && !isConflict(error)) throw new DataRefused(describeRefusal(error));
      const { name, code } = error as Error & { code?: string };
      const kind = { family: delivery.family, reason: code ?? name };
      const details = { err: error, delivery: delivery.id };
      this.options.log.limited('error', kind, 'a delivery could not be stored', details);
      throw new NotStorable(error, delivery.id);
    }
  }

  /** Resolves once every appended delivery is durable and enqueued. */
  async drained(): Promise<void> {
    await this.commits.drained();
    await Promise.all(this.enqueuing);
  }

  private async commit(deliveries: Delivery[]): Promise<AppendResult[]> {
    const { circuit, fallback } = this.options;
    const store = () => circuit.run(() => this.timed('PostgreSQL', deliveries, () => this.store(deliveries)));
    try {
      // A fault of the store may have ended before the probe: a lone delivery is at fault if it fails after it, too.
      return await store().catch((error) => {
        if (deliveries.length > 1 || error instanceof StoreUnavailable) throw error;
        return store();
      });
    } catch (error) {
      if (!(error instanceof StoreUnavailable && fallback)) throw error;
      return await fallback.circuit.run(() =>
        this.timed('Redis', deliveries, () => this.spill(fallback, deliveries)),
      );
    }
  }

  private async timed(store: string, deliveries: Delivery[], commit: () => Promise<AppendResult[]>) {
    const started = performance.now();
    const report = (error?: unknown) =>
      this.options.observe?.committed?.({
        store,
        deliveries,
        seconds: (performance.now() - started) / 1000,
        error,
      });
    try {
      const results = await commit();
      report();
      return results;
    } catch (error) {
      report(error);
      throw error;
    }
  }

  private async store(deliveries: Delivery[]): Promise<AppendResult[]> {
    const results = await insertDeliveries(this.options.pool, deliveries, { timeoutMs: databaseTimeoutMs });
    const fresh = deliveries.filter((_, index) => results[index] === 'accepted');
    if (fresh.length > 0) this.enqueue(fresh.map(({ id, family }) => ({ id, family })));
    return results;
  }

  /** The fallback store cannot tell duplicates; only copies in the same commit count as such. */
  private async spill(fallback: Fallback, deliveries: Delivery[]): Promise<AppendResult[]> {
    await fallback.append(deliveries);
    const seen = new Set<string>();
    return deliveries.map(({ id }) => {
      const isNew = !seen.has(id);
      seen.add(id);
      return isNew ? 'accepted' : 'duplicate';
    });
  }

  /** The response does not wait for the queue: the sweep finds deliveries without a job. */
  private enqueue(deliveries: Pick<Delivery, 'id' | 'family'>[]): void {
    const enqueued = this.options
      .enqueue(deliveries)
      .catch((error) => {
        this.options.log.debug(
          { err: error, count: deliveries.length },
          'deliveries not enqueued; the sweep will find them',
        );
      })
      .finally(() => this.enqueuing.delete(enqueued));
    this.enqueuing.add(enqueued);
  }
}
