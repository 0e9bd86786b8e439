import { randomUUID } from 'node:crypto';
import { createLog } from '../../src/common/log.ts';
import { parseConfig } from '../../src/config/config.ts';
import { families } from '../../src/families/index.ts';
import { createAcknowledged } from '../../src/intake/acknowledged.ts';
import type { Delivery } from '../../src/intake/delivery.ts';
import { createFindLost, removeResent } from '../../src/intake/find-lost.ts';
import { createIntake } from '../../src/intake/intake.ts';
import { databaseCircuit } from '../../src/intake/probe-inbox.ts';
import { createFallbackStream } from '../../src/queue/fallback-stream.ts';
import { connectRedis, type RedisClient } from '../../src/queue/redis.ts';
import { drain } from '../../src/worker/drain.ts';
import { deliveryOf, receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
let redis: TestRedis;
let client: RedisClient;
let lines: { level: number; msg: string; count?: number; from?: string; until?: string }[];
let fallback: ReturnType<typeof createFallbackStream>;

beforeAll(async () => {
  redis = await startRedis();
  client = connectRedis(redis.url, 'producer');
  await until(() => client.status === 'ready');
});
afterAll(async () => {
  client.disconnect();
  await redis.stop();
});
beforeEach(async () => {
  await redis.client().flushall();
  await database.rows('truncate inbox, quarantine, lost_deliveries');
  lines = [];
  const { db, url: databaseUrl } = database;
  const databaseId = Promise.resolve(randomUUID());
  fallback = createFallbackStream({ redis: client, prefix: '{receiver}', databaseUrl, db, databaseId, log });
  await databaseId;
});
const log = createLog('info', { write: (line: string) => lines.push(JSON.parse(line)) });

const numbered = (count: number) =>
  Array.from({ length: count }, (_, receipt_id) => deliveryOf(receiptCallback({ data: { receipt_id } })));
const lost = async () =>
  (await database.rows('select id, family, lost_from from lost_deliveries order by id')).map(
    ({ id, family, lost_from }) => [id, family, lost_from],
  );

function open(retention = {}) {
  const { db, pool } = database;
  const circuit = databaseCircuit(pool, { log });
  const config = { ...parseConfig({}, families), retention };
  const intake = createIntake({ config, families, pool, circuit, fallback, log });
  const acknowledged = createAcknowledged();
  return {
    acknowledged,
    acknowledge: async (deliveries: Delivery[]) => {
      await fallback.append(deliveries);
      acknowledged.add(deliveries);
    },
    drain: () => drain(fallback, intake, 1024),
    findLost: createFindLost({ db, fallback, acknowledged, log }),
  };
}

it('what was acknowledged from Redis and is in no store is recorded and logged, once, with its number and times', async () => {
  const { acknowledge, acknowledged, drain: move, findLost } = open();
  const deliveries = numbered(2_500);
  await acknowledge(deliveries.slice(0, 1_200));
  const [stream] = await fallback.streams();
  await move();
  await redis.client().del(stream!);
  await acknowledge(deliveries.slice(1_200));
  while ((await move()) > 0);
  await findLost();
  await findLost();
  const gone = deliveries.slice(500, 1_200).map(({ id }) => [id, 'receipt', 'redis']);
  expect(await lost()).toEqual(gone.toSorted(([a], [b]) => (a! < b! ? -1 : 1)));
  const errors = lines.filter(({ level }) => level === 50);
  expect(errors).toEqual([
    expect.objectContaining({ count: 700, from: expect.any(String), until: expect.any(String) }),
  ]);
  expect(acknowledged.count).toBe(0);
});

it('nothing is lost while it waits in Redis, and what became a row is remembered no longer', async () => {
  const { acknowledge, acknowledged, drain: move, findLost } = open();
  await acknowledge(numbered(2_100));
  await findLost();
  expect(acknowledged.count).toBe(2_100);
  for (const _ of [1, 2, 3]) await move();
  await findLost();
  expect(acknowledged.count).toBe(1_100);
  while ((await move()) > 0);
  await findLost();
  expect([acknowledged.count, await lost()]).toEqual([0, []]);
});

it('what was acknowledged after Redis was found empty is not lost', async () => {
  const { acknowledge, acknowledged, findLost } = open();
  const [first, second] = numbered(2);
  acknowledged.add([first!]);
  const { count } = fallback;
  jest.spyOn(fallback, 'count').mockImplementationOnce(async () => {
    const empty = await count();
    await acknowledge([second!]);
    return empty;
  });
  await findLost();
  expect(await lost()).toEqual([[first!.id, 'receipt', 'redis']]);
  expect(acknowledged.count).toBe(1);
});

it('what the drain has put into quarantine, or has not stored because it expired or was erased, is not lost', async () => {
  const { acknowledge, drain: move, findLost } = open({ receipt: 24 * 60 * 60 * 1000 });
  const at = (daysAgo: number, receipt_id: number) => {
    const event_time = Math.floor(Date.now() / 1000) - daysAgo * 86_400;
    return deliveryOf(receiptCallback({ event_time, data: { receipt_id } }));
  };
  const expired = at(3, 1);
  const refused = at(0, 2);
  refused.body = Buffer.from(refused.body.toString().replace('SUCCESS', String.raw`\u0000`));
  await acknowledge([expired, refused, at(0, 3)]);
  while ((await move()) > 0);
  expect(await database.rows('select count(*)::int as n from inbox')).toEqual([{ n: 1 }]);
  await findLost();
  expect(await lost()).toEqual([]);
});

it('a lost delivery that is sent again and stored is lost no longer', async () => {
  const { acknowledge, acknowledged, drain: move, findLost } = open();
  const deliveries = numbered(2);
  acknowledged.add(deliveries);
  await findLost();
  expect(await lost()).toHaveLength(2);
  await acknowledge(deliveries.slice(0, 1));
  await move();
  await removeResent(database.db);
  expect(await lost()).toEqual([[deliveries[1]!.id, 'receipt', 'redis']]);
});

it('more than can be remembered are counted, and said once', async () => {
  const acknowledged = createAcknowledged(10_000);
  const deliveries = numbered(10_003);
  acknowledged.add(deliveries);
  expect([acknowledged.count, acknowledged.beyond]).toEqual([10_000, 3]);
  for (let at = 0; at < 10_000; at += 1_000) {
    expect(acknowledged.first(1_000).map(({ id }) => id)).toEqual(
      deliveries.slice(at, at + 1_000).map(({ id }) => id),
    );
    acknowledged.removeFirst(1_000);
    acknowledged.add(deliveries.slice(at, at + 1));
  }
  expect(acknowledged.first(20).map(({ id }) => id)).toHaveLength(10);
  const findLost = createFindLost({ db: database.db, fallback, acknowledged, log });
  await findLost();
  await findLost();
  expect(lines.filter(({ msg }) => msg.startsWith('more callbacks')).map(({ count }) => count)).toEqual([3]);
});
