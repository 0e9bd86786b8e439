import { randomUUID } from 'node:crypto';
import { parseConfig } from '../../src/config.ts';
import { families } from '../../src/families/index.ts';
import { Unavailable } from '../../src/intake/delivery.ts';
import { openIntake } from '../../src/intake/open-intake.ts';
import { Quarantine } from '../../src/intake/quarantine.ts';
import { createLog } from '../../src/log.ts';
import { FallbackStream } from '../../src/queue/fallback-stream.ts';
import { connectRedis, type RedisClient } from '../../src/queue/redis.ts';
import type { Circuit } from '../../src/store/circuit.ts';
import { databaseCircuit } from '../../src/store/circuits.ts';
import { drain } from '../../src/worker/drain.ts';
import { deliveryOf, receiptCallback } from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

const log = createLog('silent');
const never = new Promise<never>(() => {});
let redis: TestRedis;
let database: TestDatabase;
let circuit: Circuit;
const clients: RedisClient[] = [];

beforeAll(async () => {
  [redis, database] = await Promise.all([startRedis(), createDatabase()]);
});
beforeEach(async () => {
  await redis.client().flushall();
  await database.pool.query('truncate deliveries, quarantine');
  circuit = databaseCircuit(database.pool, { log });
});
afterEach(() => circuit.close());
afterAll(async () => {
  for (const client of clients) client.disconnect();
  await Promise.all([redis.stop(), database.close()]);
});

/** The stream of a process that knows its database by this address and, maybe, this id. */
async function streamOf(databaseUrl: string, databaseId: Promise<string> = never) {
  const client = connectRedis(redis.url, 'producer');
  clients.push(client);
  await until(() => client.status === 'ready');
  return new FallbackStream({ redis: client, prefix: '{receiver}', databaseUrl, databaseId, log });
}

function drainOf(fallback: FallbackStream) {
  const { pool } = database;
  const { intake } = openIntake({
    config: parseConfig({}, families),
    families,
    pool,
    circuit,
    fallback,
    log,
  });
  const quarantine = new Quarantine({ pool, limits: { rows: 1, bytes: 1e6 }, log });
  return { step: () => drain({ fallback, intake, bodyLimitBytes: 256 * 1024 }), quarantine };
}

const numbered = (count: number) =>
  Array.from({ length: count }, (_, receipt_id) => deliveryOf(receiptCallback({ data: { receipt_id } })));
const stored = async () => (await database.rows('select id from deliveries order by id')).map(({ id }) => id);
const idsOf = (deliveries: { id: string }[]) => deliveries.map(({ id }) => id).toSorted();

it('what waits becomes rows, byte for byte, and leaves Redis after that', async () => {
  const fallback = await streamOf(database.url, Promise.resolve(randomUUID()));
  const deliveries = numbered(150);
  await fallback.append(deliveries);
  expect(await fallback.count()).toBe(150);
  const { step } = drainOf(fallback);
  while ((await step()) > 0);
  expect(await stored()).toEqual(idsOf(deliveries));
  expect(await fallback.count()).toBe(0);
  const [row] = await database.rows(`select envelope->'data'->>'name' as name from deliveries limit 1`);
  expect(row).toEqual({ name: 'आशा राव' });
});

it('while the database refuses to store, nothing leaves Redis', async () => {
  const fallback = await streamOf(database.url, Promise.resolve(randomUUID()));
  const deliveries = numbered(3);
  await fallback.append(deliveries);
  await database.pool.query('alter table deliveries rename to away');
  try {
    await expect(drainOf(fallback).step()).rejects.toThrow(Unavailable);
    expect(await fallback.count()).toBe(3);
  } finally {
    await database.pool.query('alter table away rename to deliveries');
  }
  await circuit.whenClosed(new AbortController().signal);
  await drainOf(fallback).step();
  expect(await stored()).toEqual(idsOf(deliveries));
});

it('an acknowledged delivery that PostgreSQL refuses is kept where nothing evicts it; its neighbours are stored', async () => {
  const fallback = await streamOf(database.url, Promise.resolve(randomUUID()));
  const deliveries = numbered(20);
  const bad = deliveries[7]!;
  bad.body = Buffer.from(bad.body.toString().replace('SUCCESS', String.raw`\u0000`));
  await fallback.append(deliveries);
  const { step, quarantine } = drainOf(fallback);
  await step();
  expect(await stored()).toEqual(idsOf(deliveries.filter((delivery) => delivery !== bad)));
  expect(await fallback.count()).toBe(0);
  // Room for one body only: what was never acknowledged makes way.
  const others = async () => {
    const rows = await database.rows('select 1 from quarantine where not acknowledged');
    return rows.length;
  };
  let n = 0;
  do {
    n += 1;
    await quarantine.keep({ path: '/x', reason: 'invalid', errors: [], body: Buffer.from(`${n}`) });
    await quarantine.drained();
  } while ((await others()) >= n); // until something was evicted
  const kept = await database.rows(`select body from quarantine where reason = 'refused_by_database'`);
  expect(kept).toEqual([{ body: bad.body }]);
});

it('deliveries of another database are not touched, though both share a Redis and a prefix', async () => {
  const theirs = await streamOf('postgresql://elsewhere/one', Promise.resolve(randomUUID()));
  await theirs.append(numbered(5));
  const ours = await streamOf(database.url, Promise.resolve(randomUUID()));
  expect(await drainOf(ours).step()).toBe(0);
  expect(await stored()).toEqual([]);
  expect(await theirs.count()).toBe(5);
});

it('what came before a process knew its database is drained by whoever knows it, by whatever address', async () => {
  const deliveries = numbered(4);
  let known: (id: string) => void = () => {};
  const id = randomUUID();
  const receiver = await streamOf('postgresql://pooler/one', new Promise((resolve) => (known = resolve)));
  await receiver.append(deliveries);
  const worker = await streamOf('postgresql://server/one', Promise.resolve(id));
  expect(await drainOf(worker).step()).toBe(0);
  known(id);
  await until(async () => (await drainOf(worker).step()) === 4);
  expect(await stored()).toEqual(idsOf(deliveries));
});

it('where one address leads to two databases, nothing is taken for a database that is not known', async () => {
  const address = 'postgresql://postgres:5432/receiver';
  const client = redis.client();
  const unknown = await streamOf(address);
  await unknown.append(numbered(1));
  const [one] = await Promise.all(
    [randomUUID(), randomUUID()].map((id) => streamOf(address, Promise.resolve(id))),
  );
  await until(async () => (await client.zcard('{receiver}:databases')) === 2);
  await expect(unknown.append(numbered(1))).rejects.toThrow('QUEUE_PREFIX');
  expect(await drainOf(one!).step()).toBe(0);
  expect(await one!.count()).toBe(1);
});

it('a database that took over the address of another drains what came before its processes knew it', async () => {
  const deliveries = numbered(3);
  const client = redis.client();
  const [now] = await client.time();
  const unknown = await streamOf(database.url);
  await unknown.append(deliveries);
  const worker = await streamOf(database.url, Promise.resolve(randomUUID()));
  await until(async () => (await client.zcard('{receiver}:databases')) === 1);
  const [note] = await client.zrange('{receiver}:databases', '0', '0');
  const former = `${note!.split(' ')[0]} ${randomUUID()}`;
  await client.zadd('{receiver}:databases', Number(now) - 10, former);
  expect(await drainOf(worker).step()).toBe(0);
  await client.zadd('{receiver}:databases', Number(now) - 1_000, former);
  expect(await drainOf(worker).step()).toBe(3);
  expect(await stored()).toEqual(idsOf(deliveries));
});
