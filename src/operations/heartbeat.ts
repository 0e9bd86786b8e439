import { sql } from 'kysely';
import type { RunningCore } from '../receiver/feature.ts';
import { requests } from '../receiver/metrics.ts';
import type { Db } from '../receiver/store/tables.ts';
import { readReadiness } from './process-checks.ts';

/** Statuses of requests whose bodies are not kept in the quarantine. */
const refused = ['401', '403', '413', '429', '503'];
const queryMs = 5_000;
/** A week of minutes. */
const maxUnwritten = 10_080;

const beats = `insert into receiver.heartbeats
  select distinct date_trunc('minute', now() - ms * interval '1 millisecond') from unnest($1::float8[]) ms
  on conflict do nothing`;
const counts = `insert into receiver.counters as c (name, key, count, first_at, last_at)
  select 'rejections', to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24') || ' ' || status, count, now(), now()
  from jsonb_to_recordset($1::jsonb) as r(status text, count bigint) order by status
  on conflict (name, key) do update set count = c.count + excluded.count, last_at = now()`;

/**
 * Writes each minute in which callbacks could be taken, and the requests that were refused since the last call. While only Redis
 * takes callbacks, the minutes wait for PostgreSQL. A call after an error writes the same.
 */
export function createHeartbeat(core: RunningCore): () => Promise<void> {
  const { pool } = core;
  /** By the monotonic clock, in ms. */
  let unwritten: number[] = [];
  let lastCounts = new Map<string, number>();

  return async () => {
    const { ready, checks } = await readReadiness(core);
    if (ready) unwritten = [...unwritten.slice(1 - maxUnwritten), performance.now()];
    if (checks.some(({ name, status }) => name === 'database' && status === 'fail')) return;
    const ages = unwritten.map((at) => performance.now() - at);
    if (ages.length > 0) await pool.query({ text: beats, values: [ages], query_timeout: queryMs });
    unwritten = [];
    const totals = await countRefused();
    const increases = [...totals]
      .map(([status, total]) => ({ status, count: total - (lastCounts.get(status) ?? 0) }))
      .filter(({ count }) => count > 0);
    if (increases.length > 0)
      await pool.query({ text: counts, values: [JSON.stringify(increases)], query_timeout: queryMs });
    lastCounts = totals;
  };
}

async function countRefused(): Promise<Map<string, number>> {
  const totals = new Map(refused.map((status) => [status, 0]));
  for (const { labels, value } of (await requests.get()).values) {
    const status = String(labels.status);
    const total = totals.get(status);
    // Anybody may guess paths.
    if (total !== undefined && labels.family !== 'none') totals.set(status, total + value);
  }
  return totals;
}

export async function trim(db: Db): Promise<void> {
  const daysAgo = (days: number) => sql<Date>`now() - ${days}::int * interval '1 day'`;
  await db.deleteFrom('receiver.heartbeats').where('at', '<', daysAgo(400)).execute();
  await db
    .deleteFrom('receiver.counters')
    .where('name', 'in', ['rejections', 'lost'])
    .where('last_at', '<', daysAgo(7))
    .execute();
}
