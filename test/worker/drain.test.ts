import { randomUUID } from 'node:crypto';
import { createLog } from '../../src/common/log.ts';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { Unavailable } from '../../src/intake/delivery.ts';
import { createIntake } from '../../src/intake/intake.ts';
import { databaseCircuit } from '../../src/intake/probe-inbox.ts';
import { createQuarantine } from '../../src/intake/quarantine.ts';
import { createFallbackStream, type FallbackStream } from '../../src/queue/fallback-stream.ts';
import { connectRedis, type RedisClient } from '../../src/queue/redis.ts';
import type { Circuit } from '../../src/receiver/store/circuit.ts';
import { drain } from '../../src/worker/drain.ts';
import { deliveryOf, receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

const log = createLog('silent');
const never = new Promise<never>(() => {});
let redis: TestRedis;
const database = useDatabase();
let circuit: Circuit;
const clients: RedisClient[] = [];

beforeAll(async () => {
  redis = await startRedis();
});
beforeEach(async () => {
  await redis.client().flushall();
  await database.pool.query('truncate inbox, quarantine');
  circuit = databaseCircuit(database.pool, { log });
});
afterEach(() => {
  circuit.stop();
  // One that went on would register its address among those of the next test.
  for (const client of clients.splice(0)) client.disconnect();
});
afterAll(() => redis.stop());

/** The stream of a process with this database URL and, once it has connected to PostgreSQL, this database id. */
async function openStream(databaseUrl: string, databaseId: Promise<string> = never) {
  const client = connectRedis(redis.url, 'producer');
  clients.push(client);
  await until(() => client.status === 'ready');
  return createFallbackStream({
    redis: client,
    prefix: '{receiver}',
    databaseUrl,
    db: database.db,
    databaseId,
    log,
  });
}

function createDrain(fallback: FallbackStream) {
  const { pool } = database;
  const intake = createIntake({
    config: parseConfig({}, families),
    families,
    pool,
    circuit,
    fallback,
    log,
  });
  const quarantine = createQuarantine({ families, pool, limits: { bytes: 1_500 }, log });
  return { step: () => drain(fallback, intake, 256 * 1024), quarantine };
}

const numbered = (count: number) =>
  Array.from({ length: count }, (_, receipt_id) => deliveryOf(receiptCallback({ data: { receipt_id } })));
const stored = async () => (await database.rows('select id from deliveries order by id')).map(({ id }) => id);
const idsOf = (deliveries: { id: string }[]) => deliveries.map(({ id }) => id).toSorted();

it('drained deliveries become rows, byte for byte, and are then removed from Redis', async () => {
  const fallback = await openStream(database.url, Promise.resolve(randomUUID()));
  const deliveries = numbered(150);
  await fallback.append(deliveries);
  expect(await fallback.count()).toBe(150);
  const { step } = createDrain(fallback);
  while ((await step()) > 0);
  expect(await stored()).toEqual(idsOf(deliveries));
  expect(await fallback.count()).toBe(0);
  const [row] = await database.rows(`select envelope->'data'->>'name' as name from deliveries limit 1`);
  expect(row).toEqual({ name: 'आशा राव' });
});

it('while PostgreSQL cannot store deliveries, none is removed from Redis', async () => {
  const fallback = await openStream(database.url, Promise.resolve(randomUUID()));
  const deliveries = numbered(3);
  await fallback.append(deliveries);
  await database.pool.query('alter table inbox rename to inbox_elsewhere');
  try {
    await expect(createDrain(fallback).step()).rejects.toThrow(Unavailable);
    expect(await fallback.count()).toBe(3);
  } finally {
    await database.pool.query('alter table inbox_elsewhere rename to inbox');
  }
  await circuit.whenClosed(new AbortController().signal);
  await createDrain(fallback).step();
  expect(await stored()).toEqual(idsOf(deliveries));
});

it('an acknowledged delivery that PostgreSQL rejects is quarantined and never evicted; the others are stored', async () => {
  const fallback = await openStream(database.url, Promise.resolve(randomUUID()));
  const deliveries = numbered(20);
  const bad = deliveries[7]!;
  bad.body = Buffer.from(bad.body.toString().replace('SUCCESS', String.raw`\u0000`));
  await fallback.append(deliveries);
  const { step, quarantine } = createDrain(fallback);
  await step();
  expect(await stored()).toEqual(idsOf(deliveries.filter((delivery) => delivery !== bad)));
  expect(await fallback.count()).toBe(0);
  // The quarantine is limited to one body: the unacknowledged ones are evicted.
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
  const quarantined = await database.rows(`select body from quarantine where reason = 'refused_by_database'`);
  expect(quarantined).toEqual([{ body: bad.body }]);
});

it('entries that somebody else has added to the stream are quarantined; the others are stored', async () => {
  const id = randomUUID();
  const fallback = await openStream(database.url, Promise.resolve(id));
  const deliveries = numbered(20);
  const stream = `{receiver}:fallback:${id}`;
  await redis.client().xadd(stream, '*', 'foo', 'bar');
  await fallback.append(deliveries);
  await redis.client().xadd(stream, '*', 'id', '"', 'family', 'receipt', 'body', '}');
  await createDrain(fallback).step();
  expect(await stored()).toEqual(idsOf(deliveries));
  expect(await fallback.count()).toBe(0);
  const parked = await database.rows('select body from quarantine where acknowledged order by body');
  expect(parked).toEqual([{ body: Buffer.from('foo bar') }, { body: Buffer.from('}') }]);
});

it('deliveries of another database are not drained, even with the same Redis and prefix', async () => {
  const foreign = await openStream('postgresql://elsewhere/one', Promise.resolve(randomUUID()));
  await foreign.append(numbered(5));
  const ours = await openStream(database.url, Promise.resolve(randomUUID()));
  expect(await createDrain(ours).step()).toBe(0);
  expect(await stored()).toEqual([]);
  expect(await foreign.count()).toBe(5);
});

it('deliveries stored before a process knew the id of its database are drained by any process of that database, whatever its URL', async () => {
  const deliveries = numbered(4);
  let resolveId: (id: string) => void = () => {};
  const id = randomUUID();
  const receiver = await openStream(
    'postgresql://pooler/one',
    new Promise((resolve) => (resolveId = resolve)),
  );
  await receiver.append(deliveries);
  const worker = await openStream('postgresql://server/one', Promise.resolve(id));
  expect(await createDrain(worker).step()).toBe(0);
  resolveId(id);
  await until(async () => (await createDrain(worker).step()) === 4);
  expect(await stored()).toEqual(idsOf(deliveries));
});

it('while two databases use one URL, no delivery is stored or drained under that URL', async () => {
  const address = 'postgresql://postgres:5432/receiver';
  const client = redis.client();
  const unknown = await openStream(address);
  await unknown.append(numbered(1));
  const [one] = await Promise.all(
    [randomUUID(), randomUUID()].map((id) => openStream(address, Promise.resolve(id))),
  );
  await until(async () => (await client.zcard('{receiver}:databases')) === 2);
  await expect(unknown.append(numbered(1))).rejects.toThrow('QUEUE_PREFIX');
  expect(await createDrain(one!).step()).toBe(0);
  expect(await one!.count()).toBe(1);
});

it('a database that took over the URL of another drains the deliveries of that URL', async () => {
  const deliveries = numbered(3);
  const client = redis.client();
  const [now] = await client.time();
  const unknown = await openStream(database.url);
  await unknown.append(deliveries);
  const worker = await openStream(database.url, Promise.resolve(randomUUID()));
  await until(async () => (await client.zcard('{receiver}:databases')) === 1);
  const [entry] = await client.zrange('{receiver}:databases', '0', '0');
  const previous = `${entry!.split(' ')[0]} ${randomUUID()}`;
  await client.zadd('{receiver}:databases', Number(now) - 10, previous);
  expect(await createDrain(worker).step()).toBe(0);
  await client.zadd('{receiver}:databases', Number(now) - 1_000, previous);
  expect(await createDrain(worker).step()).toBe(3);
  expect(await stored()).toEqual(idsOf(deliveries));
});
