import { collectDefaultMetrics, Gauge, Registry, register } from 'prom-client';
import { shareFor } from '../common/timeouts.ts';
import type { RunningCore } from '../receiver/feature.ts';
import { readChecks } from './read-checks.ts';

const maxCounted = 100_000;
const queryMs = 5_000;

interface Figures {
  received: number;
  failed: number;
  oldestS: number;
  quarantine: Record<string, number>;
}

type Sample = [value: number, labels?: Record<string, string>];

const figures = `
with waiting as (select id from receiver.pending_deliveries where next_at < 'infinity' limit ${maxCounted}),
  failed as (select from receiver.pending_deliveries where next_at = 'infinity' limit ${maxCounted}),
  rejected as (select reason, count(*) from receiver.quarantine where replayed_at is null group by reason)
select (select count(*)::int from waiting) as received, (select count(*)::int from failed) as failed,
  (select to_jsonb(coalesce(extract(epoch from now() - min(stored_at)), 0)) from waiting join receiver.inbox using (id)) as "oldestS",
  (select coalesce(jsonb_object_agg(reason, count), '{}') from rejected) as quarantine`;

export function createScrape(core: RunningCore) {
  const own = new Registry();
  collectDefaultMetrics({ register: own });
  const gauges = shareFor(core.config.times.metricsCacheMs, () => readGauges(core));
  return async (): Promise<{ type: string; text: string }> => {
    const texts = await Promise.all([register, own, await gauges()].map((registry) => registry.metrics()));
    return { type: own.contentType, text: texts.join('\n') };
  };
}

/** Gauges that cannot be read are left out. */
async function readGauges(core: RunningCore): Promise<Registry> {
  const registry = new Registry();
  const add = (name: string, help: string, samples: Sample[]) => {
    const labelNames = Object.keys(samples[0]?.[1] ?? {});
    const gauge = new Gauge({ name: `receiver_${name}`, help, labelNames, registers: [registry] });
    for (const [value, labels = {}] of samples) gauge.inc(labels, value);
  };
  const checks = await readChecks(core);
  const { queue, fallback } = core.process;
  const isOk = (name: string) => checks.some((check) => check.name === name && check.status === 'ok');
  const stores: Sample[] = [[Number(isOk('database')), { store: 'postgresql' }]];
  if (queue) stores.push([Number(isOk('queue')), { store: 'redis' }]);
  add('store_up', '0 if a store takes no callbacks, or does not respond', stores);
  const faults = checks.filter(({ status }) => status !== 'ok');
  const byName = faults.map(({ name: kind, status }): Sample => [1, { kind, status }]);
  add('problems', 'Checks that are not ok, by name: receiver doctor says what to do', byName);
  const waiting = fallback ? await fallback.waiting().catch(() => undefined) : { count: 0 };
  if (waiting)
    add('fallback_deliveries', 'Deliveries only in Redis: do not wipe it until it is 0', [[waiting.count]]);
  if (!isOk('database')) return registry;
  const reading = core.pool.query<Figures>({ text: figures, query_timeout: queryMs });
  const result = await reading.catch((err) =>
    core.log.limited('warn', {}, 'metrics are incomplete', { err }),
  );
  for (const { received, failed, oldestS, quarantine } of result?.rows ?? []) {
    const byStatus: Sample[] = [
      [received, { status: 'received' }],
      [failed, { status: 'failed' }],
    ];
    const unapplied = `Deliveries that wait, or whose data PostgreSQL refuses; ${maxCounted} at most`;
    add('unapplied_deliveries', unapplied, byStatus);
    const age = 'How long the oldest delivery has waited for a worker';
    add('oldest_pending_delivery_age_seconds', age, [[oldestS]]);
    const byReason = Object.entries(quarantine).map(([reason, count]): Sample => [count, { reason }]);
    add('quarantine_rows', 'Bodies in quarantine that were not replayed, by reason', byReason);
  }
  return registry;
}
