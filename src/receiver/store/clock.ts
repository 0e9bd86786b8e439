import type pg from 'pg';

/** An older reading is made anew while it is used. */
const usedMs = 10_000;
/** A longer reading is not used: its error is up to half of its round trip. */
const maxRoundTripMs = 5_000;

/** PostgreSQL's clock, in milliseconds since 1970; undefined: not known. */
export interface DatabaseClock {
  /** By the last reading. */
  now: () => number | undefined;
  /** How far it is ahead of this process's clock. */
  aheadMs: () => number | undefined;
  /** Never throws. */
  refresh: () => Promise<void>;
}

/** The fault that both clocks find: one clock that is wrong, or alone, refuses nothing. */
export function byBothClocks<Fault extends string>(
  judge: (nowMs: number) => Fault | undefined,
  ownMs: number,
  databaseMs: number | undefined,
): Fault | undefined {
  const fault = judge(ownMs);
  return databaseMs !== undefined && judge(databaseMs) === fault ? fault : undefined;
}

/**
 * Reads on demand. Between two readings it goes on with the monotonic clock: a jump of this machine's clock does not shift it, and
 * while PostgreSQL is unavailable the last known difference counts.
 */
export function createDatabaseClock(pool: pg.Pool, circuit: { isOpen: boolean }): DatabaseClock {
  let aheadOfMonotonicMs: number | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  const measure = async () => {
    const began = performance.now();
    const text = 'select to_jsonb(extract(epoch from clock_timestamp()) * 1000) as ms';
    const { rows } = await pool.query<{ ms: number }>({ text, query_timeout: maxRoundTripMs });
    const ended = performance.now();
    // PostgreSQL may have looked at its clock at any time in between, as where this process was stopped.
    if (ended - began > maxRoundTripMs) return;
    aheadOfMonotonicMs = rows[0]!.ms - (began + ended) / 2;
    readAt = ended;
  };

  const refresh = (): Promise<void> => {
    reading ??= measure()
      .catch(() => {}) // the circuit reports an outage
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };

  const lastKnown = () => aheadOfMonotonicMs && aheadOfMonotonicMs + performance.now();

  return {
    now: () => {
      if (performance.now() - readAt > usedMs && !circuit.isOpen) void refresh();
      return lastKnown();
    },
    aheadMs: () => {
      const ms = lastKnown();
      return ms === undefined ? undefined : ms - Date.now();
    },
    refresh,
  };
}
