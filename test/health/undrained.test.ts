import { diagnose } from '../../src/diagnostics/diagnose.ts';
import { createFindUndrained } from '../../src/health/undrained.ts';
import { hashAddress } from '../../src/queue/database-registry.ts';
import { connectRedis, type RedisClient } from '../../src/queue/redis.ts';
import { useDatabase } from '../support/database.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

let redis: TestRedis;
let client: RedisClient;
const database = useDatabase();
beforeAll(async () => {
  redis = await startRedis();
  client = connectRedis(redis.url, 'producer');
  await until(() => client.status === 'ready');
});
afterAll(async () => {
  client.disconnect();
  await redis.stop();
});

const oldest = new Date('2026-01-02T03:04:05Z');
const fallbackWith = (times: (Date | undefined)[], rival?: string, drainsAt?: Date) => ({
  circuit: { isOpen: false, probeAfter: async () => false } as never,
  count: async () => 7,
  oldest: async () => times.shift(),
  rival,
  drainsAt,
});

it('deliveries of which the same one stays the oldest in Redis are not drained: how many, since when, and why', async () => {
  const find = createFindUndrained(fallbackWith([oldest, oldest], 'db:5432/copy'), { isOpen: false }, 0);
  await find();
  const [problem] = await find();
  expect(problem).toMatchObject({ kind: 'undrained', status: 'fail' });
  expect(problem!.detail).toMatch(/^7 wait, the oldest since 2026-01-02T03:04:05.000Z.*db:5432\/copy/);
});

it('after a restore in place of the former database it says from when on they are drained', async () => {
  const drainsAt = new Date('2026-01-02T03:08:00Z');
  const find = createFindUndrained(
    fallbackWith([oldest, oldest], 'db:5432/former', drainsAt),
    { isOpen: false },
    0,
  );
  await find();
  const [problem] = await find();
  expect(problem!.detail).toMatch(/db:5432\/former.*no sign of life.*drained from 2026-01-02T03:08:00.000Z/);
});

it.each([
  ['each time another one is the oldest', [new Date(1), new Date(2), new Date(3)], false],
  ['PostgreSQL is unavailable', [oldest, oldest, oldest], true],
  ['there are none', [undefined, undefined, undefined], false],
])('nothing is wrong while %s', async (_, times, isOpen) => {
  const find = createFindUndrained(fallbackWith(times), { isOpen }, 1);
  expect([await find(), await find(), await find()].flat()).toEqual([]);
});

it('doctor fails while deliveries of a minute ago stay in Redis, and not while they are drained', async () => {
  const stream = `{receiver}:fallback:${hashAddress(database.url)}`;
  const add = (secondsAgo: number) =>
    client.xadd(stream, `${Date.now() - secondsAgo * 1000}-0`, 'id', 'x', 'family', 'receipt', 'body', '{}');
  const doctor = async () =>
    (await diagnose({ DATABASE_URL: database.url, REDIS_URL: redis.url, PORT: '0' }))
      .filter(({ name }) => name === 'fallback')
      .map(({ status, detail }) => [status, /\d+ wait/.exec(detail)?.[0]]);
  await add(30);
  expect(await doctor()).toEqual([]);
  await client.del(stream);
  await add(112);
  expect(await doctor()).toEqual([['fail', '1 wait']]);
});
