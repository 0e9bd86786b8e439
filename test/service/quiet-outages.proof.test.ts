import { setTimeout as pause } from 'node:timers/promises';
import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { type Service, startService } from '../../src/service/service.ts';
import { startTcpProxy, type TcpProxy } from '../chaos/tcp-proxy.ts';
import { consentFormCallback, paths, receiptCallback } from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { post, testConfig } from '../support/service.ts';
import { until } from '../support/until.ts';

interface Line {
  level: number;
  msg: string;
  store?: string;
}

let database: TestDatabase;
let redis: TestRedis;
let link: TcpProxy;
let service: Service & { url: string };
let lines: Line[];
beforeEach(async () => {
  [database, redis] = await Promise.all([createDatabase(), startRedis()]);
  link = await startTcpProxy(Number(new URL(database.url).port));
});
afterEach(async () => {
  await service.stop();
  await link.stop();
  await Promise.all([database.close(), redis.stop()]);
});

async function start(redisUrl: string | undefined) {
  const logged: Line[] = [];
  lines = logged;
  const url = Object.assign(new URL(database.url), { port: String(link.port) });
  const config = testConfig({
    databaseUrl: url.href,
    redisUrl,
    sweep: { everyMs: 100, olderThanMs: 100 },
  });
  const log = createLog('info', { write: (line: string) => logged.push(JSON.parse(line) as Line) });
  service = (await startService(config, families, log)) as Service & { url: string };
  if (redisUrl) await until(() => lines.some(({ msg }) => msg.startsWith('Redis is the fallback store')));
  expect(lines.filter(({ level }) => level > 40)).toEqual([]);
  lines.length = 0;
}

let next = 0;
const send = async (count: number) => {
  const sending = Array.from({ length: count }, async () => {
    next += 1;
    return (await post(service.url + paths.receipt, receiptCallback({ data: { receipt_id: next } }))).status;
  });
  return Promise.all(sending);
};
const applied = (count: number) =>
  until(async () => {
    const rows = await database.rows(`select count(*)::int as n from deliveries where status = 'applied'`);
    return rows[0]!.n === count;
  });
const jobs = async () => {
  const keys = await redis.client().keys('*:deliveries-*:*');
  return keys.filter((key) => /:\d+$|:swept-/.test(key)).length;
};

/** Sends callbacks for some time, during which the log is checked. */
async function sendFor(milliseconds: number): Promise<void> {
  const end = performance.now() + milliseconds;
  while (performance.now() < end) {
    await send(10);
    await pause(50);
  }
}

it.each(['redis', 'postgresql'])(
  'with the queue on %s, an outage of PostgreSQL is two lines of the log, however many callbacks are sent',
  async (backend) => {
    await start(backend === 'redis' ? redis.url : undefined);
    expect(await send(20)).toEqual(Array(20).fill(200));
    await applied(20);
    link.cut();
    await sendFor(3_000);
    const outage = lines.filter(({ level }) => level > 30);
    expect(outage.map(({ msg, store }) => [msg, store])).toEqual([['store unavailable', 'PostgreSQL']]);
    expect(lines.length).toBeLessThan(10);
    await link.restore();
    await until(() => lines.some(({ msg }) => msg === 'store available again'));
    expect(await send(20)).toEqual(Array(20).fill(200));
    await until(
      async () => (await database.rows(`select 1 from deliveries where status <> 'applied'`)).length === 0,
    );
    expect(lines.filter(({ store }) => store)).toHaveLength(2);
    expect(lines.length).toBeLessThan(10);
  },
);

it('a Redis that rejects writes is two lines of the log, and all deliveries are applied afterwards', async () => {
  await start(redis.url);
  const client = redis.client();
  await client.config('SET', 'maxmemory', '1');
  await sendFor(2_000);
  // After ten seconds, which are soon over on a slow machine, deliveries are applied without jobs.
  const aboutStores = () => lines.filter(({ store }) => store);
  expect(aboutStores()).toMatchObject([{ msg: 'store unavailable', store: 'Redis' }]);
  await client.config('SET', 'maxmemory', '0');
  const [row] = await database.rows('select count(*)::int as n from deliveries');
  await applied(row!.n as number);
  await until(() => aboutStores().length === 2);
  expect(aboutStores()[1]).toMatchObject({ msg: 'store available again', store: 'Redis' });
  expect(lines.length).toBeLessThan(5);
});

it('a broken table fills neither the queue nor the log, and delays no other family, even where jobs are lost', async () => {
  await start(redis.url);
  await database.pool.query('alter table receipts rename to receipts_elsewhere');
  await sendFor(2_000);
  await until(() => lines.length > 0);
  expect(lines.map(({ msg }) => msg)).toEqual(['family table not writable']);
  expect(await jobs()).toBeLessThan(100);
  // Redis is wiped, so that only the sweep finds the other family's delivery.
  for (let id = 0; id < 5; id += 1) {
    await post(service.url + paths.consent_form, consentFormCallback({ data: { id: `c${id}` } }));
    await redis.client().flushall();
  }
  await applied(5);
  await database.pool.query('alter table receipts_elsewhere rename to receipts');
  await until(
    async () => (await database.rows(`select 1 from deliveries where status <> 'applied'`)).length === 0,
  );
  const aboutTable = () => lines.filter(({ msg }) => msg.includes('table'));
  await until(() => aboutTable().length > 1);
  expect(aboutTable()).toHaveLength(2);
});
