import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Core } from '../receiver/feature.ts';
import { registry as counted } from '../receiver/metrics.ts';
import { readChecks } from './read-checks.ts';

const maxCounted = 100_000;
const queryMs = 5_000;

interface Figures {
  received: number;
  failed: number;
  oldestS: number;
  quarantine: Record<string, number>;
}

const figures = `
with waiting as (select id from receiver.pending_deliveries where next_at < 'infinity' limit ${maxCounted}),
  failed as (select from receiver.pending_deliveries where next_at = 'infinity' limit ${maxCounted}),
  rejected as (select reason, count(*) from receiver.quarantine where replayed_at is null group by reason)
select (select count(*)::int from waiting) as received, (select count(*)::int from failed) as failed,
  (select to_jsonb(coalesce(extract(epoch from now() - min(stored_at)), 0)) from waiting join receiver.inbox using (id)) as "oldestS",
  (select coalesce(jsonb_object_agg(reason, count), '{}') from rejected) as quarantine`;

/** Creates the function that makes the response of /metrics, in Prometheus's text format. */
export function createScrape(core: Core) {
  const own = new Registry();
  collectDefaultMetrics({ register: own });
  let readAt = Number.NEGATIVE_INFINITY;
  let read: Promise<Registry> | undefined;
  return async (): Promise<{ type: string; text: string }> => {
    if (performance.now() - readAt >= core.config.metricsCacheMs) {
      readAt = performance.now();
      read = readGauges(core);
    }
    const texts = await Promise.all([counted, own, (await read)!].map((registry) => registry.metrics()));
    return { type: own.contentType, text: texts.join('\n') };
  };
}

/** What it reads; what a store does not tell is left out. */
async function readGauges(core: Core): Promise<Registry> {
  const registry = new Registry();
  const add = (name: string, help: string, values: [value: number, labels?: Record<string, string>][]) => {
    const labelNames = Object.keys(values[0]?.[1] ?? {});
    const gauge = new Gauge({ name: `receiver_${name}`, help, labelNames, registers: [registry] });
    for (const [value, labels = {}] of values) gauge.inc(labels, value);
  };
  const checks = await readChecks(core);
  const { queue, fallback } = core.process!;
  const isOk = (name: string) => checks.some((check) => check.name === name && check.status === 'ok');
  add('store_up', '0 if a store takes no callbacks, or does not respond', [
    [Number(isOk('database')), { store: 'postgresql' }],
    ...(queue ? [[Number(isOk('queue')), { store: 'redis' }] as [number, { store: string }]] : []),
  ]);
  const problems = checks.filter(({ status }) => status !== 'ok');
  add(
    'problems',
    'Checks that are not ok, by name: receiver doctor says what to do',
    problems.map(({ name: kind, status }) => [1, { kind, status }]),
  );
  const waiting = fallback ? await fallback.waiting().catch(() => undefined) : { count: 0 };
  if (waiting)
    add('fallback_deliveries', 'Deliveries only in Redis: do not wipe it until it is 0', [[waiting.count]]);
  if (!isOk('database')) return registry;
  const reading = core.pool.query<Figures>({ text: figures, query_timeout: queryMs });
  const found = await reading.catch((err) => core.log.limited('warn', {}, 'metrics are incomplete', { err }));
  if (!found) return registry;
  const { received, failed, oldestS, quarantine } = found.rows[0]!;
  add(
    'unapplied_deliveries',
    `Deliveries that wait, or whose data PostgreSQL refuses; ${maxCounted} at most`,
    [
      [received, { status: 'received' }],
      [failed, { status: 'failed' }],
    ],
  );
  add('oldest_pending_delivery_age_seconds', 'How long the oldest delivery has waited for a worker', [
    [oldestS],
  ]);
  add(
    'quarantine_rows',
    'Bodies in quarantine that were not replayed, by reason',
    Object.entries(quarantine).map(([reason, count]) => [count, { reason }]),
  );
  return registry;
}
