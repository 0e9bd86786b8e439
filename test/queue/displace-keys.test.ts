import { createLog } from '../../src/common/log.ts';
import { displaceKeys, typesOfQueue } from '../../src/queue/displace-keys.ts';
import { connectRedis, type RedisClient } from '../../src/queue/redis.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { send } from '../support/everything.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

let redis: TestRedis;
let client: RedisClient;
let database: TestDatabase;
let service: Awaited<ReturnType<typeof startTestService>>;
let sent = 0;
beforeAll(async () => {
  [redis, database] = await Promise.all([startRedis(), createDatabase()]);
  client = connectRedis(redis.url, 'producer');
  await until(() => client.status === 'ready');
  service = await startTestService({
    databaseUrl: database.url,
    redisUrl: redis.url,
    sweep: { everyMs: 200, olderThanMs: 500 },
  });
});
afterAll(async () => {
  await service.stop();
  client.disconnect();
  await Promise.all([redis.stop(), database.close()]);
});

const isApplied = async (receipt_id: number) =>
  (await database.rows('select 1 from receipts where receipt_id = $1', [receipt_id])).length === 1;
const sendAndApply = async () => {
  sent += 1;
  await send(service.url + paths.receipt, receiptCallback({ data: { receipt_id: sent } }));
  await until(() => isApplied(sent));
};

it('the keys of a queue that works have the types that are expected', async () => {
  await sendAndApply();
  const [meta] = await client.keys('*:deliveries-*:meta');
  const types = typesOfQueue(meta!.slice(0, -':meta'.length));
  const found = Object.fromEntries(
    await Promise.all(Object.keys(types).map(async (key) => [key, await client.type(key)])),
  );
  expect(Object.values(found).filter((type) => type !== 'none').length).toBeGreaterThan(3);
  for (const [key, type] of Object.entries(found)) if (type !== 'none') expect(type).toBe(types[key]);
});

it.each(['wait', 'active', 'meta', 'marker', 'events', 'completed', 'id', 'stalled'])(
  'a value of another type that somebody stores at the key "%s" of the queue does not stop deliveries, and is kept',
  async (name) => {
    const [meta] = await client.keys('*:deliveries-*:meta');
    const key = meta!.replace(/meta$/, name);
    await client.del(key);
    await (name === 'id' ? client.hset(key, 'a', 'theirs') : client.set(key, 'theirs'));
    await sendAndApply();
    if (name === 'meta') await until(async () => (await client.keys(`${key}:displaced:*`)).length > 0);
    // The type first: the key may be renamed at any moment.
    const type = await client.type(key);
    const renamed = await client.keys(`${key}:displaced:*`);
    for (const one of renamed) if (name !== 'id') expect(await client.get(one)).toBe('theirs');
    expect(renamed.length > 0 || type === (name === 'id' ? 'hash' : 'string')).toBe(true);
    await sendAndApply();
    await client.hset(meta!, 'name', 'kept');
  },
);

it('a key of the right type stays, and the log names each that was renamed', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line)) });
  await client.set('{p}:one', 'theirs');
  await client.rpush('{p}:two', 'ours');
  await displaceKeys(client, { '{p}:one': 'list', '{p}:two': 'list', '{p}:three': 'stream' }, log);
  expect(await client.lrange('{p}:two', 0, -1)).toEqual(['ours']);
  expect(lines).toEqual([
    expect.objectContaining({ level: 50, key: '{p}:one', type: 'string', expected: 'list' }),
  ]);
  expect(await client.get(lines[0]!.renamedTo as string)).toBe('theirs');
});
