import type pg from 'pg';
import type { Config } from '../common/config/config.ts';
import type { Log } from '../common/log.ts';
import { withTimeout } from '../common/timeouts.ts';
import { type DeliveryQueue, openQueue } from './queue/delivery-queue.ts';
import { createFallback, type Fallback } from './queue/fallback.ts';
import { type Circuit, databaseCircuit } from './store/circuit.ts';
import { createDatabaseClock, type DatabaseClock } from './store/clock.ts';

/** The wait for Redis at a start, so that the first deliveries get jobs. */
const openingMs = 2_000;

export interface Stores {
  circuit: Circuit;
  clock: DatabaseClock;
  /** Undefined without Redis. */
  queue?: DeliveryQueue | undefined;
  /** Undefined without Redis. With REDIS_FALLBACK=off it takes nothing, and what it has from before is drained. */
  fallback?: Fallback | undefined;
  /** Leaves the pool open. */
  close: () => Promise<void>;
}

/**
 * Opens the stores of a process; an unavailable store is no error. Takes two seconds at most.
 *
 * @param pool of the path, or of a command
 */
export async function openStores(config: Config, pool: pg.Pool, log: Log): Promise<Stores> {
  const { redisUrl: url, times } = config;
  const circuit = databaseCircuit(pool, log, times.databaseMs);
  pool.on('error', (error) => void circuit.probeAfter(error));
  const clock = createDatabaseClock(pool, circuit);
  await clock.refresh();
  if (!url) return { circuit, clock, close: async () => circuit.stop() };

  const queue = openQueue({ url, config, log });
  const fallback = createFallback({ url, config, log });
  // The sweep finds what has no job.
  await withTimeout(openingMs, Promise.all([queue.opening, fallback.opening])).catch(() => {});
  const close = async () => {
    fallback.close();
    await queue.close();
    circuit.stop();
  };
  return { circuit, clock, queue, fallback, close };
}
