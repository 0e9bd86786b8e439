import type { Core } from '../receiver/feature.ts';
import { requests } from '../receiver/metrics.ts';
import { readReadiness } from './process-checks.ts';

/** What is refused before its body counts; that of a refused body is in the quarantine. */
const refused = ['401', '403', '413', '429'];
const queryMs = 5_000;
/** A week of minutes. */
const maxHeld = 10_080;

const beats = `insert into receiver.heartbeats
  select distinct date_trunc('minute', now() - ms * interval '1 millisecond') from unnest($1::float8[]) ms
  on conflict do nothing`;
const counts = `insert into receiver.counters as c (name, key, count, first_at, last_at)
  select 'rejections', to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24') || ' ' || status, count, now(), now()
  from jsonb_to_recordset($1::jsonb) as r(status text, count bigint) order by status
  on conflict (name, key) do update set count = c.count + excluded.count, last_at = now()`;

/**
 * Creates the function that notes each minute that callbacks could be taken, and how many requests were refused since the
 * last time. While only Redis takes them, it waits for PostgreSQL.
 *
 * @throws (the function) the database's error; the next call notes the same
 */
export function createHeartbeat(core: Core): () => Promise<void> {
  const { pool } = core;
  let held: number[] = [];
  let before = new Map<string, number>();

  return async () => {
    const { ready, checks } = await readReadiness(core, core.process!);
    if (ready) held = [...held.slice(1 - maxHeld), performance.now()];
    if (checks.some(({ name, status }) => name === 'database' && status === 'fail')) return;
    const ages = held.map((at) => performance.now() - at);
    if (ages.length > 0) await pool.query({ text: beats, values: [ages], query_timeout: queryMs });
    held = [];
    const now = await countRefused();
    const more = [...now].map(([status, count]) => ({ status, count: count - (before.get(status) ?? 0) }));
    const given = more.filter(({ count }) => count > 0);
    if (given.length > 0)
      await pool.query({ text: counts, values: [JSON.stringify(given)], query_timeout: queryMs });
    before = now;
  };
}

async function countRefused(): Promise<Map<string, number>> {
  const now = new Map(refused.map((status) => [status, 0]));
  for (const { labels, value } of (await requests.get()).values) {
    const counted = now.get(String(labels.status));
    // Anybody may guess paths.
    if (counted !== undefined && labels.family !== 'none') now.set(String(labels.status), counted + value);
  }
  return now;
}

/** Deletes old heartbeats and counts. */
export async function trim({ pool }: Core): Promise<void> {
  await pool.query(`delete from receiver.heartbeats where at < now() - interval '400 days'`);
  await pool.query(
    `delete from receiver.counters where name in ('rejections', 'unstored') and last_at < now() - interval '7 days'`,
  );
}
