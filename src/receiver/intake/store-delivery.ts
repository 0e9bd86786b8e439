import type pg from 'pg';
import type { Delivery, SpilledDelivery } from '../../callbacks/delivery.ts';
import type { Family } from '../../callbacks/families/family.ts';
import { DataRefused, InvalidCallback } from '../../callbacks/rejection.ts';
import type { Config } from '../../common/config/config.ts';
import { dayMs } from '../../common/days.ts';
import type { Log } from '../../common/log.ts';
import { withTimeout } from '../../common/timeouts.ts';
import { storeGated } from '../gate/gate.ts';
import { commitSeconds } from '../metrics.ts';
import { type Circuit, StoreUnavailable } from '../store/circuit.ts';
import { byBothClocks } from '../store/clock.ts';
import { describeError, faultOf, OtherFamilies, Unavailable } from '../store/errors.ts';
import { insertDeliveries } from '../store/insert-deliveries.ts';
import { createGroupCommit, Overloaded } from './group-commit.ts';

/** `duplicate`: it was received before; `expired`: it is older than what its family keeps, and is not stored. */
export type ReceiveResult = 'accepted' | 'duplicate' | 'expired';
/** `spilled`: into the fallback store, so it is accepted; it passes here again when that is drained. */
export type StoreResult = ReceiveResult | 'spilled';

export interface IntakeOptions {
  config: Config;
  families: readonly Family[];
  pool: pg.Pool;
  /** PostgreSQL's; in a command, plain calls. */
  circuit: { run: Circuit['run']; unavailableSince?: Circuit['unavailableSince'] };
  /** PostgreSQL's clock, in milliseconds since 1970. */
  clock: { now: () => number | undefined };
  /** Keeps deliveries while PostgreSQL is unavailable. @throws where they are not surely kept */
  fallback?: { append: (deliveries: SpilledDelivery[]) => Promise<void> } | undefined;
  /** Called with new deliveries of a commit, by family; it must not throw. Default: the sweep finds them. */
  onStored?: ((family: string, ids: readonly string[]) => unknown) | undefined;
  log: Log;
}

/** A delivery that this process has stored in the database. `at`: ms since 1970. */
export interface StoredDelivery {
  id: string;
  at: number;
}

/** @returns those of the last ten minutes, 5,000 at most, the oldest first: after a fail-over they may be gone */
export type ListRecent = () => readonly StoredDelivery[];

interface DeliveryStore {
  listRecent: ListRecent;
  /**
   * @param place `anywhere`: in the fallback store while PostgreSQL is unavailable; `nowhere`: a dry run
   * @returns once it is durable, or is known not to be stored
   * @throws InvalidCallback: no earlier event could replace what one of the future makes; DataRefused; Unavailable
   */
  store: (delivery: Delivery, place: 'anywhere' | 'database' | 'nowhere') => Promise<StoreResult>;
  drained: () => Promise<void>;
}

// The fault of other rows: a constraint that an operator has added.
const ofOtherRows = new Set(['23503', '23505', '23P01']);

export function createDeliveryStore(options: IntakeOptions): DeliveryStore {
  const { config, families, pool, circuit, fallback, onStored } = options;

  const { databaseMs } = config.times;
  let stored: StoredDelivery[] = [];
  const notify = (waiting: readonly Delivery[]) => {
    const at = Date.now();
    for (const { id } of waiting) stored.push({ id, at });
    if (stored.length > 2 * maxRecent) stored = stored.slice(-maxRecent);
    for (const name of new Set(waiting.map(({ family }) => family)))
      onStored?.(
        name,
        waiting.filter(({ family }) => family === name).map(({ id }) => id),
      );
  };
  const insert = (deliveries: Delivery[]) =>
    circuit.run(async () => {
      const end = commitSeconds.startTimer({ store: 'postgresql' });
      const results = await insertDeliveries(pool, deliveries, databaseMs);
      end();
      notify(deliveries.filter((_, index) => results[index] === 'accepted'));
      return results;
    });
  // Not through the circuit: its errors say nothing about PostgreSQL.
  const passGate = (deliveries: Delivery[]) =>
    withTimeout(2 * databaseMs, storeGated(pool, families, deliveries, databaseMs)).catch((error) => {
      throw gateError(error);
    });
  const insertOrSpill = async (deliveries: Delivery[]) => {
    try {
      return await insert(deliveries);
    } catch (error) {
      if (!fallback || !(error instanceof StoreUnavailable)) throw error;
      const end = commitSeconds.startTimer({ store: 'redis' });
      await fallback.append(deliveries);
      end();
      return deliveries.map(() => 'spilled' as const);
    }
  };

  // Callbacks do not wait for the commits of the drain.
  const commits = {
    anywhere: createGroupCommit({ ...commitLimits, commit: insertOrSpill }),
    database: createGroupCommit({ ...commitLimits, commit: insert }),
  };
  const gate = createGroupCommit({ ...commitLimits, maxItems: maxGated, commit: passGate });

  return {
    listRecent: () => {
      const since = Date.now() - recentMs;
      return stored.slice(-maxRecent).filter(({ at }) => at >= since);
    },
    store: async (delivery, place) => {
      if (isExpired(options, delivery)) return 'expired';
      if (place === 'nowhere') return 'accepted';
      try {
        const result = await commits[place].append(delivery);
        return result === 'gated' ? await gate.append(delivery) : result;
      } catch (error) {
        throw failureOf(error, delivery, options.log);
      }
    },
    drained: async () => {
      await Promise.all(Object.values(commits).map(({ drained }) => drained()));
      await gate.drained();
    },
  };
}

/** Whether the event is older than what its family keeps, by both clocks. @throws InvalidCallback */
function isExpired({ config, clock }: IntakeOptions, { eventMs, family }: Delivery): boolean {
  const keptMs = config.retention[family] ?? Number.POSITIVE_INFINITY;
  const judge = (nowMs: number) => {
    if (eventMs > nowMs + dayMs) return 'future';
    return eventMs < nowMs - keptMs ? 'expired' : undefined;
  };
  const fault = byBothClocks(judge, Date.now(), clock.now());
  if (fault === 'future')
    throw InvalidCallback.at('/event_time', 'must not be more than a day in the future');
  return fault === 'expired';
}

const commitLimits = {
  weigh: ({ body }: Delivery) => body.length,
  maxWeight: 4 * 1024 * 1024,
  maxItems: 500,
  maxWaiting: 5_000,
  maxWaitingWeight: 64 * 1024 * 1024,
};

const recentMs = 600_000;
const maxRecent = 5_000;

/** Deliveries of a commit that locks the gate: inserts wait for it. */
const maxGated = 50;

/** A delivery that may concern an erasure could not be judged: no fault of the sender, who sends it again. */
class GateFailed extends Error {
  override name = 'GateFailed';
}

/** Where no delivery is at fault, StoreUnavailable: then the commit is not tried in parts. */
function gateError(error: unknown): unknown {
  const fault = faultOf(error);
  if (fault === 'refusal') return error;
  const isOfAll = fault !== 'other' || error instanceof OtherFamilies;
  return isOfAll
    ? new StoreUnavailable('The gate of erasures', error)
    : new GateFailed('A delivery could not be judged.', { cause: error });
}

function failureOf(error: unknown, { id, family }: Delivery, log: Log): DataRefused | Unavailable {
  const { code = '' } = error as { code?: string };
  if (faultOf(error) === 'refusal' && !ofOtherRows.has(code)) return new DataRefused(describeError(error));
  if (!(error instanceof StoreUnavailable || error instanceof Overloaded))
    log.limited('error', { family, code }, 'a delivery could not be stored', { err: error, delivery: id });
  return new Unavailable(error, id);
}
