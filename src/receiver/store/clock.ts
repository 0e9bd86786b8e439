import type pg from 'pg';
import { shareFor } from '../../common/timeouts.ts';

const everyMs = 10_000;
/** A longer reading is not used: its error is up to half of its round trip. */
const maxRoundTripMs = 5_000;

/** PostgreSQL's clock, in milliseconds since 1970; undefined: not known. */
export interface DatabaseClock {
  now: () => number | undefined;
  /** Unless it was read a moment ago. Never throws. */
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
export function createDatabaseClock(
  pool: pg.Pool,
  circuit: { unavailableSince?: Date | undefined },
): DatabaseClock {
  let aheadOfMonotonicMs: number | undefined;

  const measure = async () => {
    const began = performance.now();
    const text = 'select to_jsonb(extract(epoch from clock_timestamp()) * 1000) as ms';
    const { rows } = await pool.query<{ ms: number }>({ text, query_timeout: maxRoundTripMs });
    const ended = performance.now();
    // PostgreSQL may have looked at its clock at any time in between, as where this process was stopped.
    if (ended - began <= maxRoundTripMs) aheadOfMonotonicMs = rows[0]!.ms - (began + ended) / 2;
  };

  const refresh = shareFor(everyMs, () => measure().catch(() => {})); // the circuit reports an outage
  return {
    now: () => {
      if (!circuit.unavailableSince) void refresh();
      return aheadOfMonotonicMs && aheadOfMonotonicMs + performance.now();
    },
    refresh,
  };
}
