import type pg from 'pg';
import { createLog } from '../../src/common/log.ts';
import { createScrape } from '../../src/metrics/scrape.ts';
import { readTables } from '../../src/store/read-tables.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { allowConnections } from '../support/database.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { post, useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { adminToken, scrape } from './scraping.ts';

const { database, start: startService } = useService({ per: 'test' });
let redis: TestRedis;
beforeEach(async () => {
  redis = await startRedis();
});
afterEach(() => redis.stop());

const start = (redisUrl: string | undefined) => startService({ redisUrl, adminToken, metricsCacheMs: 0 });

it('while PostgreSQL is unavailable, a scrape shows that, omits what it cannot read, and counts the deliveries in Redis', async () => {
  const { url } = await start(redis.url);
  const send = (receipt_id: number) => post(url + paths.receipt, receiptCallback({ data: { receipt_id } }));
  await allowConnections(database, false);
  try {
    for (const id of [1, 2, 3]) expect((await send(id)).status).toBe(200);
    const outage = await scrape(url);
    expect(outage.value('receiver_store_up', { store: 'postgresql' })).toBe(0);
    expect(outage.value('receiver_store_up', { store: 'redis' })).toBe(1);
    expect(outage.value('receiver_fallback_deliveries')).toBe(3);
    expect(outage.value('receiver_commit_duration_seconds_count', { store: 'redis' })).toBeGreaterThan(0);
    for (const name of [
      'receiver_unapplied_deliveries',
      'receiver_oldest_pending_delivery_age_seconds',
      'receiver_quarantine_rows',
    ]) {
      expect(outage.metrics.get(name)!.samples).toEqual([]);
    }
  } finally {
    await allowConnections(database, true);
  }
  const restored = await until(async () => {
    const now = await scrape(url);
    return now.value('receiver_deliveries_applied_total') === 3 ? now : undefined;
  });
  expect(restored.value('receiver_store_up', { store: 'postgresql' })).toBe(1);
  await until(async () => (await scrape(url)).value('receiver_fallback_deliveries') === 0);
});

it('while Redis is unavailable, a scrape shows that and everything else', async () => {
  const { url } = await start(redis.url);
  redis.process.kill('SIGKILL');
  const { value, metrics } = await until(async () => {
    const now = await scrape(url);
    return now.value('receiver_store_up', { store: 'redis' }) === 0 ? now : undefined;
  });
  expect(value('receiver_store_up', { store: 'postgresql' })).toBe(1);
  expect(value('receiver_unapplied_deliveries', { status: 'received' })).toBe(0);
  expect(metrics.get('receiver_fallback_deliveries')!.samples).toEqual([]);
  await redis.restart();
});

it('a scrape returns while a table is locked, and leaves no waiting query behind', async () => {
  const { url } = await start(undefined);
  const client = await database.pool.connect();
  try {
    await client.query('begin; lock table quarantine in access exclusive mode');
    expect((await scrape(url)).value('receiver_store_up', { store: 'postgresql' })).toBe(0);
    const waiting = `select query from pg_stat_activity
      where wait_event_type = 'Lock' and query like '%quarantine%' and datname = current_database()`;
    await until(async () => (await database.rows(waiting)).length === 0);
  } finally {
    await client.query('rollback');
    client.release();
  }
  await until(async () => (await scrape(url)).value('receiver_store_up', { store: 'postgresql' }) === 1);
});

it('a scrape reads the index of pending deliveries and not the table, even with outdated planner statistics', async () => {
  await database.pool.query(`insert into pending_deliveries (id, family, received_at)
    select gen_random_uuid(), 'receipt', now() from generate_series(1, 20000);
    analyze pending_deliveries;
    delete from pending_deliveries`);
  let sent = '';
  const listening = {
    query: (text: string) => {
      sent = text;
      return database.pool.query(text);
    },
  } as unknown as pg.Pool;
  expect(await readTables(listening)).toMatchObject({
    received: 0,
    failed: 0,
    oldestPendingS: 0,
  });
  const last = sent.lastIndexOf(';') + 1;
  const explained = `${sent.slice(0, last)} explain (costs off) ${sent.slice(last)}`;
  const results = (await database.pool.query(explained)) as unknown as pg.QueryResult[];
  const plan = results
    .at(-1)!
    .rows.map((row) => row['QUERY PLAN'])
    .join('\n');
  expect(plan.match(/Index Only Scan using pending_deliveries_by_age/g)).toHaveLength(2);
  expect(plan).not.toContain('Seq Scan');
});

it('the stores are read once per cache period, however often a scrape is requested', async () => {
  let asked = 0;
  const pool = {
    query: (text: string) => {
      asked += 1;
      return database.pool.query(text);
    },
  } as unknown as pg.Pool;
  const scrapeOnce = createScrape(
    {
      pool,
      backend: {},
      problems: async () => [],
      log: createLog('silent'),
    },
    3_600_000,
  );
  const [first] = await Promise.all(Array.from({ length: 20 }, scrapeOnce));
  expect(first!.text).toContain('receiver_store_up{store="postgresql"} 1');
  await scrapeOnce();
  expect(asked).toBe(1);
});
