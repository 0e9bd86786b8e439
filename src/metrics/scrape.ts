import type pg from 'pg';
import type { Log } from '../log.ts';
import type { JobQueue } from '../queue/backend.ts';
import { countHeld } from '../queue/held.ts';
import { within } from '../within.ts';
import { countedAtMost, type Metrics } from './definitions.ts';
import { readTables } from './table-figures.ts';

/** The stores that are asked at a scrape. */
export interface Stores {
  pool: pg.Pool;
  /** BullMQ's queue; raises an error where it was never reached. */
  queue: () => JobQueue;
  /** Which store the queue is in. */
  queueStore: 'redis' | 'postgresql';
  log: Log;
}

export interface Scrape {
  contentType: string;
  text: string;
}

const timeoutMs = 2_500;
const jobStates = ['waiting', 'active', 'delayed', 'failed'] as const;
const quarantineReasons = ['not_json', 'invalid', 'wrong_family', 'refused_by_database'];

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

async function refresh(metrics: Metrics, { pool, queue, queueStore, log }: Stores): Promise<void> {
  const known = <T>(figures: string, answer: Promise<T>) =>
    within(timeoutMs, answer).catch((err) => {
      log.warn({ err, figures }, 'a scrape did not get all figures');
      return undefined;
    });
  const [tables, jobs] = await Promise.all([
    known('tables', readTables(pool)),
    known('queue', readQueue(queue, queueStore)),
  ]);
  const isUp = (store: string) =>
    (store !== 'postgresql' || tables !== undefined) && (store !== queueStore || jobs !== undefined);
  for (const store of new Set(['postgresql', queueStore]))
    metrics.storeUp.set({ store }, isUp(store) ? 1 : 0);

  // What is not known now must not look like what was true before.
  for (const gauge of [metrics.deliveries, metrics.quarantine, metrics.jobs]) gauge.reset();
  for (const gauge of [metrics.oldestWaiting, metrics.refuge]) gauge.remove();
  if (tables) {
    metrics.deliveries.set({ status: 'received' }, tables.received);
    metrics.deliveries.set({ status: 'failed' }, tables.failed);
    metrics.oldestWaiting.set(tables.oldestWaitingS);
    for (const reason of quarantineReasons) {
      metrics.quarantine.set({ reason }, tables.quarantine.get(reason) ?? 0);
    }
  }
  if (jobs) {
    for (const state of jobStates) metrics.jobs.set({ state }, jobs.counts[state] ?? 0);
    metrics.refuge.set(jobs.held);
  }
}

async function readQueue(queue: Stores['queue'], store: Stores['queueStore']) {
  return {
    counts: await queue().getJobCounts(...jobStates),
    held: store === 'redis' ? await countHeld(queue(), countedAtMost) : 0,
  };
}
