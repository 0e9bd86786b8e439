import type pg from 'pg';
import type { Log } from '../common/log.ts';
import { withTimeout } from '../common/with-timeout.ts';
import type { QueueBackend } from '../queue/backend.ts';
import type { DeliveryQueue } from '../queue/delivery-queue.ts';
import type { PendingSince } from '../store/pending-since.ts';
import { destinationStates, readSending } from '../store/read-sending.ts';
import { readTables } from '../store/read-tables.ts';
import { quarantineReasons } from '../store/tables.ts';
import type { Metrics } from './definitions.ts';

export interface Sources {
  pool: pg.Pool;
  pendingSince?: PendingSince;
  queue: Pick<DeliveryQueue, 'bullmq'>;
  backend: Pick<QueueBackend, 'name' | 'fallback'>;
  log: Log;
}

const timeoutMs = 2_500;
const jobStates = ['waiting', 'active', 'delayed', 'failed'] as const;

/**
 * Creates the function that makes the response of /metrics: in Prometheus's text format, or, where there are exemplars
 * and the request accepts it, in OpenMetrics. If a store does not respond, its statistics are left out.
 *
 * @param cacheMs how long the stores' statistics are cached
 */
export function createScrape(metrics: Metrics, stores: Sources, cacheMs: number) {
  let refreshed = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | undefined;
  return async (accept = '') => {
    if (performance.now() - refreshed >= cacheMs) {
      refreshed = performance.now();
      refreshing = refresh(metrics, stores);
    }
    await refreshing;
    const { registry, openMetrics } = metrics;
    const format = openMetrics && accept.includes('application/openmetrics-text') ? openMetrics : registry;
    return { contentType: format.contentType, text: await format.metrics() };
  };
}

async function refresh(
  metrics: Metrics,
  { pool, pendingSince, queue, backend, log }: Sources,
): Promise<void> {
  const readOrWarn = <T>(source: string, read: () => Promise<T>) =>
    withTimeout(timeoutMs, read()).catch((err) => {
      log.warn({ err, source }, 'metrics are incomplete: statistics could not be read');
      return undefined;
    });
  const { fallback } = backend;
  const [tables, sending, jobs, waiting, state] = await Promise.all([
    readOrWarn('tables', () => readTables(pool, pendingSince)),
    readOrWarn('changes', () => readSending(pool)),
    readOrWarn('queue', async () => queue.bullmq().getJobCounts(...jobStates)),
    fallback && readOrWarn('fallback', () => fallback.count()),
    fallback && readOrWarn('settings of Redis', () => fallback.readState()),
  ]);
  metrics.storeUp.set({ store: 'postgresql' }, tables ? 1 : 0);
  // The fallback shows whether Redis is up: the queue is not open until PostgreSQL has been available once.
  if (fallback) metrics.storeUp.set({ store: 'redis' }, waiting === undefined ? 0 : 1);

  // Old values must not be served as current ones.
  for (const gauge of [
    metrics.unappliedDeliveries,
    metrics.quarantine,
    metrics.lost,
    metrics.queueJobs,
    metrics.destinations,
  ]) {
    gauge.reset();
  }
  for (const gauge of [
    metrics.oldestPendingAge,
    metrics.fallbackDeliveries,
    metrics.fallbackAcknowledges,
    metrics.withheldOverdue,
    metrics.feedPosition,
    metrics.feedLag,
  ]) {
    gauge.remove();
  }
  if (tables) {
    metrics.unappliedDeliveries.set({ status: 'received' }, tables.received);
    metrics.unappliedDeliveries.set({ status: 'failed' }, tables.failed);
    metrics.oldestPendingAge.set(tables.oldestPendingS);
    metrics.lost.set({ store: 'postgresql' }, tables.lostFromInbox);
    metrics.lost.set({ store: 'redis' }, tables.lostFromRedis);
    metrics.withheldOverdue.set(tables.overdue);
    for (const reason of quarantineReasons) {
      metrics.quarantine.set({ reason }, tables.quarantine.get(reason) ?? 0);
    }
  }
  if (sending) {
    metrics.feedPosition.set(sending.position);
    metrics.feedLag.set(sending.lagS);
    for (const state of destinationStates) {
      metrics.destinations.set({ state }, sending.destinations.get(state) ?? 0);
    }
  }
  if (jobs) for (const state of jobStates) metrics.queueJobs.set({ state }, jobs[state] ?? 0);
  if (state) metrics.fallbackAcknowledges.set(state.acknowledges ? 1 : 0);
  if (!fallback) metrics.fallbackDeliveries.set(0);
  else if (waiting !== undefined) metrics.fallbackDeliveries.set(waiting);
}
