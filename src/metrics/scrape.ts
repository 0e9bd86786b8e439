import type pg from 'pg';
import type { Log } from '../log.ts';
import type { QueueBackend } from '../queue/backend.ts';
import type { DeliveryQueue } from '../queue/delivery-queue.ts';
import { quarantineReasons } from '../store/tables.ts';
import { withTimeout } from '../with-timeout.ts';
import type { Metrics } from './definitions.ts';
import { readTables } from './table-figures.ts';

/** The stores that are asked at a scrape. */
export interface Stores {
  pool: pg.Pool;
  queue: Pick<DeliveryQueue, 'bullmq'>;
  backend: Pick<QueueBackend, 'name' | 'fallback'>;
  log: Log;
}

export interface Scrape {
  contentType: string;
  text: string;
}

const timeoutMs = 2_500;
const jobStates = ['waiting', 'active', 'delayed', 'failed'] as const;

/**
 * Everything as Prometheus reads it. Where a store does not answer, its figures are left out.
 *
 * @param cacheMs how long the stores' figures hold: they are not asked more often than that
 */
export function createScrape(metrics: Metrics, stores: Stores, cacheMs: number): () => Promise<Scrape> {
  let refreshed = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | undefined;
  return async () => {
    if (performance.now() - refreshed >= cacheMs) {
      refreshed = performance.now();
      refreshing = refresh(metrics, stores);
    }
    await refreshing;
    return { contentType: metrics.registry.contentType, text: await metrics.registry.metrics() };
  };
}

async function refresh(metrics: Metrics, { pool, queue, backend, log }: Stores): Promise<void> {
  const known = <T>(figures: string, answer: Promise<T>) =>
    withTimeout(timeoutMs, answer).catch((err) => {
      log.warn({ err, figures }, 'a scrape did not get all figures');
      return undefined;
    });
  const { fallback } = backend;
  const [tables, jobs, waiting] = await Promise.all([
    known('tables', readTables(pool)),
    known('queue', countJobs(queue)),
    fallback && known('fallback', fallback.count()),
  ]);
  metrics.storeUp.set({ store: 'postgresql' }, tables ? 1 : 0);
  // Of Redis, the fallback tells: until PostgreSQL has answered once, there is no queue to ask for.
  if (fallback) metrics.storeUp.set({ store: 'redis' }, waiting === undefined ? 0 : 1);

  // What is not known now must not look like what was true before.
  for (const gauge of [metrics.deliveries, metrics.quarantine, metrics.jobs]) gauge.reset();
  for (const gauge of [metrics.oldestWaiting, metrics.fallback]) gauge.remove();
  if (tables) {
    metrics.deliveries.set({ status: 'received' }, tables.received);
    metrics.deliveries.set({ status: 'failed' }, tables.failed);
    metrics.oldestWaiting.set(tables.oldestWaitingS);
    for (const reason of quarantineReasons) {
      metrics.quarantine.set({ reason }, tables.quarantine.get(reason) ?? 0);
    }
  }
  if (jobs) for (const state of jobStates) metrics.jobs.set({ state }, jobs[state] ?? 0);
  if (!fallback) metrics.fallback.set(0);
  else if (waiting !== undefined) metrics.fallback.set(waiting);
}

async function countJobs(queue: Stores['queue']) {
  return queue.bullmq().getJobCounts(...jobStates);
}
