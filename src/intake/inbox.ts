import type pg from 'pg';
import type { Log } from '../common/log.ts';
import { commitSeconds } from '../common/metrics.ts';
import { createGroupCommit, Overloaded } from '../receiver/intake/group-commit.ts';
import { DataRefused } from '../receiver/intake/rejection.ts';
import { type Circuit, StoreUnavailable } from '../receiver/store/circuit.ts';
import { describeDamage } from '../store/damage.ts';
import { describeRefusal, isConflict, isDamaged, isRefusal } from '../store/faults.ts';
import type { Acknowledged } from './acknowledged.ts';
import { type AppendResult, type Delivery, NotStorable, Unavailable } from './delivery.ts';
import { insertDeliveries } from './insert-deliveries.ts';
import { spillToTable } from './spilled.ts';

/** The fallback store, for deliveries while PostgreSQL is unavailable. */
export interface Fallback {
  circuit: Circuit;
  /** Resolves with whether they are kept: otherwise they must not be acknowledged. */
  append: (deliveries: readonly Delivery[]) => Promise<boolean>;
}

/** The fallback store works, and may lose what it took: no fault of its circuit. */
class NotKept extends Error {}

export interface InboxOptions {
  pool: pg.Pool;
  circuit: Pick<Circuit, 'run' | 'timeoutMs'>;
  enqueue: (deliveries: Pick<Delivery, 'id' | 'family'>[]) => Promise<void>;
  fallback?: Fallback | undefined;
  /** Remembers what is acknowledged from the fallback. */
  acknowledged?: Pick<Acknowledged, 'add'> | undefined;
  log: Log;
}

/**
 * Where a delivery may be stored: `anywhere`, what is available; `database`, in inbox or, where its page is damaged, beside it;
 * `inbox`; `fallback`.
 */
export type Place = 'anywhere' | 'database' | 'inbox' | 'fallback';

/** After so many commits in a row that a damaged page has failed, the next ones avoid it. */
const maxDamaged = 3;
const avoidMs = 5_000;

/** A place beside inbox cannot tell duplicates; only copies in the same commit count as such. */
function withoutCopies(deliveries: readonly Delivery[]): AppendResult[] {
  const seen = new Set<string>();
  return deliveries.map(({ id }) => {
    const isNew = !seen.has(id);
    seen.add(id);
    return isNew ? 'accepted' : 'duplicate';
  });
}

/** Makes deliveries durable before they are acknowledged. */
export function createInbox(options: InboxOptions) {
  const { pool, circuit, enqueue, fallback, acknowledged, log } = options;
  const enqueuing = new Set<Promise<void>>();
  let damaged = 0;
  let avoided: { damage: string; until: number } | undefined;

  const timed = async (store: string, run: () => Promise<AppendResult[]>) => {
    const end = commitSeconds.startTimer({ store });
    const results = await run();
    end();
    return results;
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
    const results = await insertDeliveries(pool, deliveries, { timeoutMs: circuit.timeoutMs });
    const fresh = deliveries.filter((_, index) => results[index] === 'accepted');
    if (fresh.length > 0) enqueueFresh(fresh.map(({ id, family }) => ({ id, family })));
    return results;
  };

  /**
   * Stores deliveries in the fallback store.
   *
   * @throws StoreUnavailable where it may lose them, too
   */
  const spill = async (store: Fallback, deliveries: Delivery[]): Promise<AppendResult[]> => {
    const append = async () => {
      if (!(await store.append(deliveries))) throw new NotKept('Redis may lose it.');
      return withoutCopies(deliveries);
    };
    const results = await store.circuit.run(() =>
      timed('redis', append).catch((error) => {
        if (error instanceof NotKept) return error;
        throw error;
      }),
    );
    if (results instanceof NotKept) throw new StoreUnavailable('The fallback store', results);
    acknowledged?.add(deliveries);
    return results;
  };

  const inPostgres = (run: () => Promise<AppendResult[]>) => circuit.run(() => timed('postgresql', run));

  /** Stores deliveries for which PostgreSQL would use a damaged page: inbox alone or, where that is damaged, beside it. */
  const storeElsewhere = async (
    deliveries: Delivery[],
    place: Place,
    damage: string,
  ): Promise<AppendResult[]> => {
    const options = { timeoutMs: circuit.timeoutMs, damage };
    try {
      return await inPostgres(() => insertDeliveries(pool, deliveries, options));
    } catch (again) {
      if (place === 'inbox' || !isDamaged(again)) throw again;
    }
    return inPostgres(async () => {
      await spillToTable(pool, deliveries, options);
      return withoutCopies(deliveries);
    });
  };

  const store = async (deliveries: Delivery[], place: Place): Promise<AppendResult[]> => {
    if (avoided && performance.now() < avoided.until)
      return storeElsewhere(deliveries, place, avoided.damage);
    const run = () => inPostgres(() => insert(deliveries));
    try {
      const results = await run().catch((error) => {
        if (error instanceof StoreUnavailable) throw error;
        // A fault of the store may have ended before the probe: a lone delivery is at fault if it fails after it, too. For a
        // damaged page, PostgreSQL's map of free space may offer another one now.
        const isDecided = isDamaged(error) ? damaged >= maxDamaged : deliveries.length > 1;
        if (isDecided) throw error;
        return run();
      });
      damaged = 0;
      return results;
    } catch (error) {
      if (!isDamaged(error) || error instanceof StoreUnavailable) throw error;
      damaged += 1;
      const damage = (await describeDamage(pool, error)) ?? 'a damaged page';
      log.limited('error', { damage }, 'a damaged page is avoided', { err: error, count: deliveries.length });
      if (damaged >= maxDamaged) avoided = { damage, until: performance.now() + avoidMs };
      return storeElsewhere(deliveries, place, damage);
    }
  };

  const commit = async (deliveries: Delivery[], place: Place) => {
    const spillsTo = place === 'anywhere' || place === 'fallback' ? fallback : undefined;
    try {
      if (place === 'fallback') throw new StoreUnavailable('PostgreSQL');
      return await store(deliveries, place);
    } catch (error) {
      if (spillsTo && (error instanceof StoreUnavailable || isDamaged(error))) {
        return await spill(spillsTo, deliveries);
      }
      throw error;
    }
  };

  const commitsTo = (place: Place) =>
    createGroupCommit<Delivery, AppendResult>({
      commit: (deliveries) => commit(deliveries, place),
      weigh: (delivery) => delivery.body.length,
      maxWeight: 4 * 1024 * 1024,
      maxItems: 500,
      maxWaiting: 5_000,
      maxWaitingWeight: 64 * 1024 * 1024,
    });
  const commits = {
    anywhere: commitsTo('anywhere'),
    database: commitsTo('database'),
    inbox: commitsTo('inbox'),
    fallback: commitsTo('fallback'),
  } satisfies Record<Place, unknown>;

  return {
    /**
     * Resolves once the delivery is durable.
     *
     * @throws Unavailable while no store of the place is available; DataRefused if PostgreSQL rejects its data; NotStorable
     */
    append: async (delivery: Delivery, place: Place = 'anywhere'): Promise<AppendResult> => {
      try {
        return await commits[place].append(delivery);
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
      await Promise.all(Object.values(commits).map((each) => each.drained()));
      await Promise.all(enqueuing);
    },
  };
}
