import type pg from 'pg';
import type { Log } from '../log.ts';
import { Circuit } from './circuit.ts';
import { isOutage } from './faults.ts';

export interface CircuitDependencies {
  log: Log;
  /** Told when a store becomes unavailable and when it is back. */
  observe?: ((store: string, away: boolean) => void) | undefined;
}

/** How long PostgreSQL may take for a commit. With Redis's time, a request waits for 2.3 s at most. */
export const databaseTimeoutMs = 1_000;
const redisTimeoutMs = 1_300;
const backAfterMs = 5_000;

// Takes the lock and needs the rights and the writable server that an insert needs.
const probe = 'insert into deliveries select * from deliveries where false';

/** The circuit of PostgreSQL, which is away unless deliveries can be inserted. */
export function databaseCircuit(pool: pg.Pool, reporting: CircuitDependencies): Circuit {
  return new Circuit({
    store: 'PostgreSQL',
    timeoutMs: databaseTimeoutMs,
    probe: () => pool.query({ text: probe, query_timeout: databaseTimeoutMs } as pg.QueryConfig),
    isOutage,
    onChange: reportOutage('PostgreSQL', reporting),
  });
}

/** @param write writes to Redis something that does not matter */
export function redisCircuit(write: () => Promise<unknown>, reporting: CircuitDependencies): Circuit {
  return new Circuit({
    store: 'Redis',
    timeoutMs: redisTimeoutMs,
    probe: write,
    isOutage: () => true,
    onChange: reportOutage('Redis', reporting),
  });
}

/**
 * An outage is two lines of the log, however many calls it fails. One that follows another within seconds, as where a
 * link comes and goes, belongs to it.
 */
function reportOutage(store: string, { log, observe }: CircuitDependencies) {
  let since = 0;
  let ending: NodeJS.Timeout | undefined;
  observe?.(store, false);
  return (away: boolean, cause?: unknown) => {
    observe?.(store, away);
    if (!away) {
      const seconds = Math.round((performance.now() - since) / 1000);
      ending = setTimeout(() => {
        ending = undefined;
        log.warn({ store, seconds }, 'a store is back');
      }, backAfterMs).unref();
    } else if (ending) {
      clearTimeout(ending);
      ending = undefined;
    } else {
      since = performance.now();
      log.error({ err: cause, store }, 'a store is away');
    }
  };
}
