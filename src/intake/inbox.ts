import type pg from 'pg';
import type { Log } from '../common/log.ts';
import type { Observer } from '../common/observer.ts';
import { type Circuit, StoreUnavailable } from '../store/circuit.ts';
import { databaseTimeoutMs } from '../store/circuits.ts';
import { describeRefusal, isConflict, isRefusal } from '../store/faults.ts';
import { type AppendResult, type Delivery, NotStorable, Unavailable } from './delivery.ts';
import { createGroupCommit, Overloaded } from './group-commit.ts';
import { insertDeliveries } from './insert-deliveries.ts';
import { DataRefused } from './rejection.ts';

/** The fallback store, for deliveries while PostgreSQL is unavailable. */
export interface Fallback {
  circuit: Circuit;
  append: (deliveries: readonly Delivery[]) => Promise<void>;
}

export interface InboxOptions {
  pool: pg.Pool;
  circuit: Circuit;
  enqueue: (deliveries: Pick<Delivery, 'id' | 'family'>[]) => Promise<void>;
  fallback?: Fallback | undefined;
  observe?: Pick<Observer, 'committed'> | undefined;
  log: Log;
}

/** Makes deliveries durable before they are acknowledged. */
export function createInbox({ pool, circuit, enqueue, fallback, observe, log }: InboxOptions) {
  const enqueuing = new Set<Promise<void>>();

  const timed = async (store: string, deliveries: Delivery[], run: () => Promise<AppendResult[]>) => {
    const started = performance.now();
    const report = (error?: unknown) => {
      const seconds = (performance.now() - started) / 1000;
      observe?.committed?.({ store, deliveries, seconds, error });
    };
    try {
      const results = await run();
      report();
      return results;
    } catch (error) {
      report(error);
      throw error;
    }
  };

  /** The response does not wait for the queue: the sweep finds deliveries without a job. */
  const enqueueFresh = (deliveries: Pick<Delivery, 'id' | 'family'>[]) => {
    const enqueued = enqueue(deliveries)
      .catch((err) => {
        log.debug({ err, count: deliveries.length }, 'deliveries not enqueued; the sweep will find them');
      })
      .finally(() => enqueuing.delete(enqueued));
    enqueuing.add(enqueued);
  };

  const insert = async (deliveries: Delivery[]) => {
    const results = await insertDeliveries(pool, deliveries, { timeoutMs: databaseTimeoutMs });
    const fresh = deliveries.filter((_, index) => results[index] === 'accepted');
    if (fresh.length > 0) enqueueFresh(fresh.map(({ id, family }) => ({ id, family })));
    return results;
  };

  /** The fallback store cannot tell duplicates; only copies in the same commit count as such. */
  const spill = async (store: Fallback, deliveries: Delivery[]): Promise<AppendResult[]> => {
    await store.append(deliveries);
    const seen = new Set<string>();
    return deliveries.map(({ id }) => {
      const isNew = !seen.has(id);
      seen.add(id);
      return isNew ? 'accepted' : 'duplicate';
    });
  };

  const commit = async (deliveries: Delivery[]) => {
    const store = () => circuit.run(() => timed('PostgreSQL', deliveries, () => insert(deliveries)));
    try {
      // A fault of the store may have ended before the probe: a lone delivery is at fault if it fails after it, too.
      return await store().catch((error) => {
        if (deliveries.length > 1 || error instanceof StoreUnavailable) throw error;
        return store();
      });
    } catch (error) {
      if (!(error instanceof StoreUnavailable && fallback)) throw error;
      return await fallback.circuit.run(() => timed('Redis', deliveries, () => spill(fallback, deliveries)));
    }
  };

  const commits = createGroupCommit<Delivery, AppendResult>({
    commit,
    weigh: (delivery) => delivery.body.length,
    maxWeight: 4 * 1024 * 1024,
    maxItems: 500,
    maxWaiting: 5_000,
    maxWaitingWeight: 64 * 1024 * 1024,
  });

  return {
    /**
     * Resolves once the delivery is durable.
     *
     * @throws Unavailable while no store is available; DataRefused if PostgreSQL rejects its data; NotStorable
     */
    append: async (delivery: Delivery): Promise<AppendResult> => {
      try {
        return await commits.append(delivery);
      } catch (error) {
        if (error instanceof Overloaded || error instanceof StoreUnavailable)
          throw new Unavailable(error, delivery.id);
        if (isRefusal(error) && !isConflict(error)) throw new DataRefused(describeRefusal(error));
        const { name, code } = error as Error & { code?: string };
        const kind = { family: delivery.family, reason: code ?? name };
        const details = { err: error, delivery: delivery.id };
        log.limited('error', kind, 'a delivery could not be stored', details);
        throw new NotStorable(error, delivery.id);
      }
    },
    /** Resolves once every appended delivery is durable and enqueued. */
    drained: async (): Promise<void> => {
      await commits.drained();
      await Promise.all(enqueuing);
    },
  };
}
