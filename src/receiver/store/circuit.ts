import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Log } from '../../common/log.ts';
import { withTimeout } from '../../common/timeouts.ts';
import { faultOf } from './errors.ts';

export class StoreUnavailable extends Error {
  constructor(store: string, cause?: unknown) {
    super(`${store} is unavailable.`, { cause });
    this.name = 'StoreUnavailable';
  }
}

export interface Circuit {
  /** While it is defined, calls fail without reaching the store. */
  readonly unavailableSince: Date | undefined;
  lastError: () => unknown;
  /** @throws StoreUnavailable, or the call's own error where a probe succeeds after it: the call is at fault */
  run: <T>(call: () => Promise<T>) => Promise<T>;
  /** Whether the store is available: by a call or a probe of the last seconds. */
  check: () => Promise<boolean>;
  /** Probes the store after an error of work that does not go through `run`. @returns whether the store is unavailable */
  probeAfter: (error: unknown) => Promise<boolean>;
  stop: () => void;
}

/** While the store is unavailable. */
const probeEveryMs = 500;
/** A success that is older does not show that the store is available: a check probes. */
const recentMs = 10_000;

/**
 * PostgreSQL is unavailable unless a delivery can be inserted. A call that finds it so opens the circuit. Calls then fail at once,
 * while a probe in the background detects recovery: so one slow call, not one per request, detects an outage. A successful probe
 * closes the circuit.
 *
 * @param timeoutMs of a commit
 */
export function databaseCircuit(pool: pg.Pool, log: Log, timeoutMs: number): Circuit {
  const store = 'PostgreSQL';
  const closing = new AbortController();
  /** Undefined: it is closed. */
  let since: Date | undefined;
  let probing: Promise<boolean> | undefined;
  let succeededAt = Number.NEGATIVE_INFINITY;
  let lastError: unknown;

  const limitTime = async <T>(call: () => Promise<T>) => {
    const result = await withTimeout(timeoutMs, call(), () => new StoreUnavailable(store));
    succeededAt = performance.now();
    return result;
  };

  const probe = (): Promise<boolean> => {
    probing ??= limitTime(() => probeInsert(pool, timeoutMs))
      .then(() => true)
      .catch((error) => {
        lastError = error;
        return false;
      })
      .finally(() => {
        probing = undefined;
      });
    return probing;
  };

  const probeUntilAvailable = async () => {
    const { signal } = closing;
    do {
      await sleep(probeEveryMs, undefined, { ref: false, signal }).catch(() => {});
      if (signal.aborted) return;
    } while (!(await probe()));
    const seconds = Math.round((Date.now() - Number(since)) / 1000);
    since = undefined;
    log.warn({ store, seconds }, 'store available again');
  };

  const trip = (err: unknown) => {
    if (since || closing.signal.aborted) return;
    since = new Date();
    log.error({ err, store }, 'store unavailable');
    void probeUntilAvailable();
  };

  return {
    get unavailableSince() {
      return since;
    },
    lastError: () => lastError,
    run: async (call) => {
      if (since) throw new StoreUnavailable(store);
      try {
        return await limitTime(call);
      } catch (error) {
        const isOutage = error instanceof StoreUnavailable || ['outage', 'timeout'].includes(faultOf(error));
        if (!isOutage) {
          // One that began before the call failed proves nothing.
          await probing;
          if (await probe()) throw error;
        }
        trip(error);
        throw error instanceof StoreUnavailable ? error : new StoreUnavailable(store, error);
      }
    },
    check: async () => !since && (performance.now() - succeededAt < recentMs || probe()),
    probeAfter: async (error) => {
      if (!since && !(await probe())) trip(error);
      return since !== undefined;
    },
    stop: () => closing.abort(),
  };
}

// It takes pages of its own, so that a full disk shows; what is left of it is vacuumed soon, unlike in inbox.
const largeText = `(select string_agg(md5(random()::text), '') from generate_series(1, 250))`;

/**
 * Inserts a delivery that is rolled back, in one round trip. Where that fails, an error of another insert says nothing about its
 * deliveries: the store is at fault.
 */
async function probeInsert(pool: pg.Pool, timeoutMs: number): Promise<void> {
  const client = await pool.connect();
  let isUsable = false;
  try {
    await client.query({
      text: `begin; set local statement_timeout = ${timeoutMs}; set local lock_timeout = ${timeoutMs};
        select from receiver.erased where false for share;
        insert into receiver.inbox select gen_random_uuid(), 'probe', 'probe', '', '', 'probe', '', now(), '{}', '{}', null, now();
        insert into receiver.pending_deliveries (id, family, error) select gen_random_uuid(), 'probe', ${largeText};
        insert into receiver.resends select gen_random_uuid(), 1, now();
        rollback`,
      query_timeout: timeoutMs,
    });
    isUsable = true;
  } finally {
    // Else it is in a transaction that has failed.
    client.release(!isUsable);
  }
}
