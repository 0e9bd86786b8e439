import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { withTimeout } from '../../common/with-timeout.ts';
import type { Circuit } from './circuit.ts';

const everyMs = 10_000;
/** Until the first reading. */
const retryMs = 500;
/** A reading that is older is made anew before something is refused by it. */
const freshMs = 3_000;
/** The longest round trip of a reading, whose error is half of that at most. The first one opens a connection. */
const maxRoundTripMs = 5_000;
/** How long a refusal waits for a reading. */
const waitMs = 1_000;

export type DatabaseClock = ReturnType<typeof createDatabaseClock>;

/**
 * What both clocks say against something: one clock that is wrong refuses nothing.
 *
 * @param judge finds a fault at a time, in milliseconds since 1970
 * @param ownMs this process's clock
 * @param databaseMs PostgreSQL's; undefined: not known
 * @returns `unknown`: this process's clock finds a fault, and nothing is known of the other; undefined: no fault
 */
export function byBothClocks<Fault extends string>(
  judge: (nowMs: number) => Fault | undefined,
  ownMs: number,
  databaseMs: number | undefined,
): Fault | 'unknown' | undefined {
  const fault = judge(ownMs);
  if (fault === undefined) return undefined;
  if (databaseMs === undefined) return 'unknown';
  return judge(databaseMs) === fault ? fault : undefined;
}

/**
 * PostgreSQL's clock, read on demand. Between two readings it goes on with the monotonic clock: a jump of this machine's
 * clock does not shift it, and while PostgreSQL is unavailable the last known difference counts.
 */
export function createDatabaseClock(pool: pg.Pool, circuit: Pick<Circuit, 'isOpen'>) {
  /** PostgreSQL's clock less the monotonic one. */
  let aheadOfMonotonicMs: number | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  const measure = async () => {
    const began = performance.now();
    const text = 'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms';
    const { rows } = await pool.query<{ ms: number }>({ text, query_timeout: maxRoundTripMs });
    const ended = performance.now();
    // PostgreSQL may have looked at its clock at any time in between, as where this process was stopped.
    if (ended - began > maxRoundTripMs) return;
    aheadOfMonotonicMs = rows[0]!.ms - (began + ended) / 2;
    readAt = ended;
  };

  /** Reads the clock, if PostgreSQL responds. */
  const refresh = (): Promise<void> => {
    reading ??= measure()
      .catch(() => {}) // the circuit reports an outage
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };

  /** The time by the last reading, in milliseconds since 1970; undefined: there was none. */
  const now = (): number | undefined =>
    aheadOfMonotonicMs === undefined ? undefined : aheadOfMonotonicMs + performance.now();

  return {
    now,
    refresh,
    /** The same, by a reading of the last seconds where PostgreSQL is available. Takes a second at most. */
    current: async (): Promise<number | undefined> => {
      if (performance.now() - readAt > freshMs && !circuit.isOpen)
        await withTimeout(waitMs, refresh()).catch(() => {});
      return now();
    },
    /** How far it is ahead of this process's clock, in milliseconds; undefined: not known. */
    aheadMs: (): number | undefined => {
      const ms = now();
      return ms === undefined ? undefined : ms - Date.now();
    },
  };
}

/** PostgreSQL's clock, read every few seconds until `stop`. */
export function watchDatabaseClock(pool: pg.Pool, circuit: Pick<Circuit, 'isOpen'>) {
  const clock = createDatabaseClock(pool, circuit);
  const stopping = new AbortController();
  const { signal } = stopping;
  void (async () => {
    while (!signal.aborted) {
      await clock.refresh();
      const pauseMs = clock.now() === undefined ? retryMs : everyMs;
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {});
    }
  })();
  return { ...clock, stop: async () => stopping.abort() };
}
