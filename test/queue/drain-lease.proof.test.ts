import type { Kysely } from 'kysely';
import { createLog } from '../../src/common/log.ts';
import { diagnose } from '../../src/diagnostics/diagnose.ts';
import type { Finding } from '../../src/diagnostics/finding.ts';
import { createDrainLease } from '../../src/queue/drain-lease.ts';
import { connectRedis, type RedisClient } from '../../src/queue/redis.ts';
import type { Tables } from '../../src/store/tables.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { allowConnections, createCopy, createDatabase, type TestDatabase } from '../support/database.ts';
import { send } from '../support/everything.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const key = '{receiver}:drains:one';
let redis: TestRedis;
let client: RedisClient;
let original: TestDatabase;
const others: TestDatabase[] = [];
const lines: { level: number; msg: string }[] = [];
const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line)) });

beforeAll(async () => {
  [redis, original] = await Promise.all([startRedis(), createDatabase()]);
  client = connectRedis(redis.url, 'producer');
  await until(() => client.status === 'ready');
});
beforeEach(() => client.flushall());
afterEach(async () => {
  lines.length = 0;
  for (const database of others.splice(0)) await database.close();
});
afterAll(async () => {
  client.disconnect();
  await Promise.all([redis.stop(), original.close()]);
});

const copy = async () => {
  const database = await createCopy(original);
  others.push(database);
  return database;
};
const openLease = ({ db }: { db: Kysely<Tables> }) => createDrainLease(client, key, db, log);
/** As if nobody had renewed it for so long. */
const silence = (ms: number) => client.pexpire(key, Math.max(1, 300_000 - ms));

it('of two databases with one identity, the first drains, and the second says in one line that it does not', async () => {
  const [first, second] = [openLease(original), openLease(await copy())];
  expect(await first.renew()).toBe(true);
  for (let n = 0; n < 3; n += 1) expect(await second.renew()).toBe(false);
  expect(second.rival).toMatch(/:\d+\/test_/);
  expect(first.rival).toBeUndefined();
  expect(await first.renew()).toBe(true);
  expect(lines.map(({ level }) => level)).toEqual([50]);
  expect(lines[0]!.msg).toContain('QUEUE_PREFIX');
});

it('what somebody else has written to the key holds back nobody', async () => {
  await client.set(key, 'junk');
  expect(await openLease(original).renew()).toBe(true);
});

it('one that is silent for five minutes gives way, and is the second when it comes back', async () => {
  const second = openLease(await copy());
  const first = openLease(original);
  await first.renew();
  await silence(290_000);
  expect(await second.renew()).toBe(false);
  await silence(300_000);
  await until(() => second.renew());
  expect(second.rival).toBeUndefined();
  expect(await openLease(original).renew()).toBe(false);
});

it('every process of one database may drain, also while another renews', async () => {
  const leases = Array.from({ length: 4 }, () => openLease(original));
  for (let n = 0; n < 3; n += 1) {
    expect(await Promise.all(leases.map((lease) => lease.renew()))).toEqual([true, true, true, true]);
  }
});

it('a database that goes on elsewhere, with the last token, waits for seconds and not for minutes', async () => {
  await openLease(original).renew();
  const moved = openLease(await copy());
  expect(await moved.renew()).toBe(false);
  // Nobody knows of two yet.
  expect(moved.rival).toBeUndefined();
  await silence(16_000);
  expect(await moved.renew()).toBe(true);
});

it('a process that sees its server replaced by another goes on at once', async () => {
  const older = await copy();
  let { db } = original;
  const current = new Proxy({} as Kysely<Tables>, {
    get: (_, name) => (Reflect.get(db, name) as () => unknown).bind(db),
  });
  const lease = openLease({ db: current });
  expect(await lease.renew()).toBe(true);
  db = older.db;
  expect(await lease.renew()).toBe(true);
  expect(await openLease(original).renew()).toBe(false);
});

/** A process that is frozen, or ends, once it has written the database and before it has reached Redis; it may wake up. */
function freezeBeforeRedis() {
  let wakeUp: (() => unknown) | undefined;
  const frozen = new Proxy(client, {
    get: (target, name) => {
      const found = Reflect.get(target, name) as (...given: unknown[]) => Promise<unknown>;
      if (name !== 'eval') return found.bind?.(target);
      return (...given: unknown[]) =>
        new Promise((resolve) => {
          wakeUp = async () => resolve(await found.apply(target, given));
        });
    },
  });
  const renewing = createDrainLease(frozen, key, original.db, log).renew();
  return {
    renewing,
    isFrozen: () => wakeUp !== undefined,
    wakeUp: async () => wakeUp!(),
  };
}

it('a restart goes on with the token that Redis has, also where the one after it was written to the database only', async () => {
  await openLease(original).renew();
  for (let n = 0; n < 3; n += 1) {
    const process = freezeBeforeRedis();
    await until(process.isFrozen);
  }
  const restarted = openLease(await copy());
  await silence(16_000);
  expect(await restarted.renew()).toBe(true);
});

it('a process that is frozen while it renews keeps no other from renewing, and does no harm when it wakes up', async () => {
  await openLease(original).renew();
  const process = freezeBeforeRedis();
  await until(process.isFrozen);
  const other = openLease(original);
  for (let n = 0; n < 3; n += 1) expect(await other.renew()).toBe(true);
  const held = await client.get(key);
  await process.wakeUp();
  expect(await client.get(key)).toBe(held);
  expect(await process.renewing).toBe(true);
  expect(await other.renew()).toBe(true);
  expect(other.rival).toBeUndefined();
});

it('a backup that is restored in place of its original says from when on it drains, and then does', async () => {
  const backup = await copy();
  await openLease(original).renew();
  const restored = openLease(backup);
  await silence(20_000);
  const before = Date.now();
  expect(await restored.renew()).toBe(false);
  const [, said] = lines as unknown as [unknown, { from: string; msg: string }];
  expect(said.msg).toContain('no sign of life');
  expect(new Date(said.from)).toEqual(restored.drainsAt);
  expect(Math.abs(restored.drainsAt!.getTime() - before - 280_000)).toBeLessThan(5_000);
  await silence(300_000);
  await until(() => restored.renew());
  expect(restored.drainsAt).toBeUndefined();
});

it('a copy beside its original takes nothing that the original has acknowledged, and delays its jobs only', async () => {
  const options = { redisUrl: redis.url, sweep: { everyMs: 200, olderThanMs: 500 } };
  const twin = await copy();
  const first = await startTestService({ ...options, databaseUrl: original.url });
  const second = await startTestService({ ...options, databaseUrl: twin.url });
  const receiptsOf = async ({ rows }: TestDatabase) =>
    (await rows('select receipt_id::int as n from receipts order by 1')).map(({ n }) => n);
  const sendSome = async (from: number) => {
    const numbers = Array.from({ length: 30 }, (_, n) => from + n);
    for (const receipt_id of numbers) {
      await send(first.url + paths.receipt, receiptCallback({ data: { receipt_id } }));
    }
    return numbers;
  };
  try {
    // Its worker takes some of the jobs, and finds no such deliveries.
    const direct = await sendSome(1);
    await until(async () => (await receiptsOf(original)).length === 30);
    expect(await receiptsOf(original)).toEqual(direct);

    const [stream] = await client.keys('{receiver}:drains:*');
    await allowConnections(original, false);
    const spilled = await sendSome(101);
    // The process of the original keeps the lease.
    await client.expire(stream!, 100);
    await until(async () => (await client.ttl(stream!)) > 100);
    const [fallback] = await client.keys('{receiver}:fallback:*');
    expect(await client.xlen(fallback!)).toBe(30);
    await allowConnections(original, true);
    await until(async () => (await client.xlen(fallback!)) === 0);
    await until(async () => (await receiptsOf(original)).length === 60);
    expect(await receiptsOf(original)).toEqual([...direct, ...spilled]);
    expect(await receiptsOf(twin)).toEqual([]);

    const doctor = (databaseUrl: string) =>
      diagnose({ DATABASE_URL: databaseUrl, REDIS_URL: redis.url, PORT: '0' });
    const isIdentity = ({ name }: Finding) => name === 'identity';
    const name = new URL(original.url).pathname;
    expect((await doctor(twin.url)).filter(isIdentity)).toEqual([
      { status: 'fail', name: 'identity', detail: expect.stringContaining(name) },
    ]);
    expect((await doctor(original.url)).filter(isIdentity)).toEqual([]);

    // The copy acknowledges nothing that would be drained elsewhere.
    await allowConnections(twin, false);
    await until(async () => {
      const { status } = await fetch(second.url + paths.receipt, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(receiptCallback({ data: { receipt_id: 900 } })),
      });
      expect(status).not.toBe(200);
      return status === 503;
    });
    expect(await client.xlen(fallback!)).toBe(0);
  } finally {
    await allowConnections(twin, true);
    await Promise.all([first.stop(), second.stop()]);
  }
});
