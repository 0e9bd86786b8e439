import type pg from 'pg';
import type { Log } from '../common/log.ts';
import { StoreUnavailable } from '../store/circuit.ts';
import { isUnavailable } from '../store/faults.ts';
import { readSessionState, type SessionState } from '../store/sessions.ts';

export type SessionStore = ReturnType<typeof openSessionStore>;

const timeoutMs = 5_000;

/**
 * The cached key of the cookies, and the cached list of ended sessions.
 *
 * @param pool whose connections no page of the console can occupy
 * @param write ends a session in the database
 * @param cacheMs after which a receiver sees that another one has ended a session
 */
export function openSessionStore(
  pool: pg.Pool,
  write: (session: string) => Promise<void>,
  log: Log,
  cacheMs: number,
) {
  let state: (SessionState & { aheadMs: number }) | undefined;
  let readAt = Number.NEGATIVE_INFINITY; // monotonic
  let reading: Promise<void> | undefined;
  /** Those that this receiver has ended, until the database is known to list them. */
  const own = new Set<string>();

  const read = async () => {
    const started = performance.now();
    const found = await readSessionState(pool, timeoutMs);
    state = { ...found, aheadMs: found.now - Date.now() };
    readAt = started;
    for (const session of own) {
      if (found.sessions.has(session)) own.delete(session);
      else await write(session);
    }
  };

  return {
    /**
     * Reads both again unless that was done in the last seconds.
     *
     * @returns why they could not be read: then what was read before is still known, and may be out of date
     */
    refresh: async (): Promise<StoreUnavailable | undefined> => {
      if (performance.now() - readAt < cacheMs) return undefined;
      reading ??= read().finally(() => {
        reading = undefined;
      });
      try {
        await reading;
        return undefined;
      } catch (error) {
        // The circuit logs an outage.
        const { code } = error as { code?: string };
        if (!isUnavailable(error))
          log.limited('error', { code }, 'sessions cannot be checked', { err: error });
        return new StoreUnavailable('PostgreSQL', error);
      }
    },
    /** Undefined: it was never read. */
    key: () => state?.key,
    /** The database's clock, in milliseconds. */
    now: () => Date.now() + (state?.aheadMs ?? 0),
    /** @param begun when the session began, in milliseconds by the database's clock */
    isEnded: (session: string, user: string, begun: number) =>
      own.has(session) ||
      state?.sessions.has(session) === true ||
      begun <= (state?.users.get(user) ?? Number.NEGATIVE_INFINITY),
    /** Ends a session at this receiver at once, and in the database as soon as that can be written. */
    end: (session: string) => void own.add(session),
    /** Makes the next request read both again. */
    expire: () => {
      readAt = Number.NEGATIVE_INFINITY;
    },
  };
}
