import type pg from 'pg';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Log } from '../common/log.ts';
import { registry as counted } from '../common/metrics.ts';
import { withTimeout } from '../common/with-timeout.ts';
import type { Problem } from '../health/problem.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { maxCounted, readTables } from '../store/read-tables.ts';
import { quarantineReasons } from '../store/tables.ts';

export interface Sources {
  pool: pg.Pool;
  backend: Pick<QueueBackend, 'fallback'>;
  problems: () => Promise<readonly Problem[]>;
  log: Log;
}

const timeoutMs = 2_500;

/**
 * Creates the function that makes the response of /metrics, in Prometheus's text format: what this process has counted, and
 * what it reads from the stores. If a store does not respond, its statistics are left out.
 *
 * @param cacheMs how long the stores' statistics are cached
 */
export function createScrape(stores: Sources, cacheMs: number) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const gauges = defineGauges(registry);
  let refreshed = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | undefined;
  return async () => {
    if (performance.now() - refreshed >= cacheMs) {
      refreshed = performance.now();
      refreshing = refresh(gauges, stores);
    }
    await refreshing;
    const { contentType } = registry;
    return { contentType, text: `${await counted.metrics()}\n${await registry.metrics()}` };
  };
}

function defineGauges(registry: Registry) {
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  return {
    storeUp: gauge(
      'receiver_store_up',
      '0 if a store did not respond to this scrape in time; the metrics that are read from it are then missing',
      ['store'],
    ),
    fallbackDeliveries: gauge(
      'receiver_fallback_deliveries',
      'Deliveries stored only in Redis, because PostgreSQL was unavailable. If it does not fall once PostgreSQL is available: is a worker running? Do not wipe Redis until it is 0',
    ),
    unapplied: gauge(
      'receiver_unapplied_deliveries',
      `Deliveries that are not applied, counted up to ${maxCounted}. received: waiting for a worker; failed: see deliveries.error, then receiver replay`,
      ['status'],
    ),
    oldestPendingAge: gauge(
      'receiver_oldest_pending_delivery_age_seconds',
      'How long the oldest delivery has been waiting for a worker. Above a minute: are the workers running, and is the queue available?',
    ),
    quarantine: gauge(
      'receiver_quarantine_rows',
      `Bodies in quarantine, by reason; of more than ${maxCounted} the last received. If it grows, the sender may have changed something: see receiver quarantine list`,
      ['reason'],
    ),
    problems: gauge(
      'receiver_problems',
      'What is wrong, by kind, as on the page Health. fail: deliveries are not applied, or soon cannot be stored; warn: somebody should decide. receiver doctor says what to do',
      ['kind', 'status'],
    ),
  };
}

async function refresh(
  gauges: ReturnType<typeof defineGauges>,
  { pool, backend: { fallback }, problems, log }: Sources,
): Promise<void> {
  const readOrWarn = <T>(source: string, read: () => Promise<T>) =>
    withTimeout(timeoutMs, read()).catch((err) => {
      log.warn({ err, source }, 'metrics are incomplete: statistics could not be read');
      return undefined;
    });
  const [tables, found, waiting] = await Promise.all([
    readOrWarn('tables', () => readTables(pool)),
    readOrWarn('problems', problems),
    fallback && readOrWarn('fallback', () => fallback.count()),
  ]);
  gauges.storeUp.set({ store: 'postgresql' }, tables ? 1 : 0);
  // The fallback shows whether Redis is up: the queue is not open until PostgreSQL has been available once.
  if (fallback) gauges.storeUp.set({ store: 'redis' }, waiting === undefined ? 0 : 1);

  // Old values must not be served as current ones.
  for (const gauge of [gauges.unapplied, gauges.quarantine, gauges.problems]) gauge.reset();
  for (const gauge of [gauges.oldestPendingAge, gauges.fallbackDeliveries]) gauge.remove();
  if (tables) {
    gauges.unapplied.set({ status: 'received' }, tables.received);
    gauges.unapplied.set({ status: 'failed' }, tables.failed);
    gauges.oldestPendingAge.set(tables.oldestPendingS);
    for (const reason of quarantineReasons) {
      gauges.quarantine.set({ reason }, tables.quarantine.get(reason) ?? 0);
    }
  }
  for (const { kind, status } of found ?? []) gauges.problems.inc({ kind, status });
  if (!fallback) gauges.fallbackDeliveries.set(0);
  else if (waiting !== undefined) gauges.fallbackDeliveries.set(waiting);
}
