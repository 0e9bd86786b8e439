import { randomUUID } from 'node:crypto';
import { createLog } from '../../src/common/log.ts';
import { createFallbackStream, type FallbackStreamOptions } from '../../src/queue/fallback-stream.ts';
import { connectRedis, type RedisClient } from '../../src/queue/redis.ts';
import { deliveryOf, receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type Rewrite, startRedisProxy } from '../support/redis-proxy.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
let redis: TestRedis;
let replica: TestRedis | undefined;
let proxy: Awaited<ReturnType<typeof startRedisProxy>> | undefined;
let lines: { level: number; msg: string; detail?: string }[];
const clients: RedisClient[] = [];

beforeEach(async () => {
  redis = await startRedis();
  lines = [];
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect();
  await proxy?.stop();
  await replica?.stop();
  await redis.stop();
  proxy = undefined;
  replica = undefined;
});

const id = randomUUID();
const stream = `{receiver}:fallback:${id}`;
const set = (name: string, value: string) => redis.client().config('SET', name, value);

async function openStream(options: Partial<FallbackStreamOptions> = {}, url = redis.url) {
  const client = connectRedis(url, 'producer');
  client.on('error', () => {});
  clients.push(client);
  await until(() => client.status === 'ready');
  const fallback = createFallbackStream({
    redis: client,
    prefix: '{receiver}',
    databaseUrl: database.url,
    db: database.db,
    databaseId: Promise.resolve(id),
    log: createLog('info', { write: (line: string) => lines.push(JSON.parse(line)) }),
    ...options,
  });
  await until(() => fallback.state);
  return fallback;
}

let next = 0;
const some = () => {
  next += 1;
  return [deliveryOf(receiptCallback({ data: { receipt_id: next } }))];
};
const count = () => redis.client().xlen(stream);
/** Whether Redis can confirm that a write is on its disk. */
const canConfirm = async () =>
  redis
    .client()
    .call('WAITAOF', 0, 0, 1)
    .then(
      () => true,
      () => false,
    );

it.each([
  ['maxmemory-policy', 'volatile-lru', true],
  ['maxmemory-policy', 'volatile-ttl', true],
  ['maxmemory-policy', 'allkeys-lru', false],
  ['maxmemory-policy', 'allkeys-random', false],
  ['appendonly', 'no', false],
  ['appendfsync', 'no', false],
])('with %s %s it is kept: %s, also where that is set between two looks', async (name, value, keeps) => {
  const fallback = await openStream();
  expect(await fallback.append(some())).toBe(true);
  await set(name, value);
  expect(await fallback.append(some())).toBe(keeps);
  expect(await fallback.append(some())).toBe(keeps);
  expect(fallback.state!.acknowledges).toBe(keeps);
  const other = await openStream();
  expect(await other.append(some())).toBe(keeps);
});

it('with appendfsync everysec it is kept where Redis confirms each write', async () => {
  await set('appendfsync', 'everysec');
  const fallback = await openStream();
  expect(await fallback.append(some())).toBe(await canConfirm());
});

it('with no-appendfsync-on-rewrite it is kept where Redis confirms each write', async () => {
  await set('no-appendfsync-on-rewrite', 'yes');
  const fallback = await openStream();
  expect(await fallback.append(some())).toBe(await canConfirm());
});

it('what is not kept is stored all the same, unless Redis may evict it, and is one line of the log, with what to run', async () => {
  const fallback = await openStream();
  await set('appendonly', 'no');
  for (const _ of [1, 2, 3]) expect(await fallback.append(some())).toBe(false);
  expect(await count()).toBe(3);
  await set('maxmemory-policy', 'allkeys-lru');
  await fallback.append(some()); // in which it is noticed
  const before = await count();
  for (const _ of [1, 2, 3]) expect(await fallback.append(some())).toBe(false);
  expect(await count()).toBe(before);
  const warnings = () => lines.filter(({ level }) => level > 30);
  expect(warnings()).toEqual([
    expect.objectContaining({
      msg: expect.stringContaining('Redis is no fallback store'),
      detail: expect.stringContaining('appendonly is off'),
    }),
  ]);
  const { detail } = await fallback.readState();
  for (const command of detail.split('redis.conf: ')[1]!.split('; ')) {
    const [name, ...args] = command.split(' ');
    await redis.client().call(name!, ...args);
  }
  await until(async () => fallback.append(some()));
  await until(() => warnings().length > 1); // once a few seconds were well
  expect(warnings()[1]!.msg).toBe('Redis is the fallback store while PostgreSQL is unavailable');
});

it('after appendonly was switched on, nothing is kept until the first rewrite has finished', async () => {
  await set('appendonly', 'no');
  const fallback = await openStream();
  await redis.client().mset(...Array.from({ length: 20 }, (_, key) => [`key ${key}`, 'x']).flat());
  // Microseconds for each key.
  await set('rdb-key-save-delay', '1000000');
  await set('appendonly', 'yes');
  expect(await fallback.append(some())).toBe(false);
  expect(await fallback.append(some())).toBe(false);
  await set('rdb-key-save-delay', '0');
  await set('appendonly', 'no');
  await set('appendonly', 'yes');
  await until(async () => (await redis.client().info('persistence')).includes('aof_rewrite_in_progress:0'));
  await until(async () => fallback.append(some()));
});

it('a rewrite of a log that was on before it changes nothing', async () => {
  const fallback = await openStream();
  await redis.client().mset(...Array.from({ length: 20 }, (_, key) => [`key ${key}`, 'x']).flat());
  await set('rdb-key-save-delay', '1000000');
  await redis.client().call('BGREWRITEAOF');
  expect(await fallback.append(some())).toBe(true);
  expect(await redis.client().info('persistence')).toContain('aof_rewrite_in_progress:1');
});

it('a time to live that somebody has set on the stream is removed', async () => {
  const fallback = await openStream();
  await fallback.append(some());
  await redis.client().expire(stream, 3_600);
  await fallback.append(some());
  expect(await redis.client().ttl(stream)).toBe(-1);
});

describe('where CONFIG is not permitted', () => {
  const asApp = async (...rules: string[]) => {
    await redis
      .client()
      .call('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all', '-config', ...rules);
    await redis.client().call('ACL', 'LOG', 'RESET');
    return redis.url.replace('//', '//app:secret@');
  };
  const denied = async () => {
    const log = (await redis.client().call('ACL', 'LOG')) as unknown[][];
    return log.map((entry) => Object.fromEntries(entry.map((value, at) => [value, entry[at + 1]])));
  };

  it('it is kept where Redis confirms each write, and CONFIG is asked for once', async () => {
    const fallback = await openStream({}, await asApp());
    const canWait = await canConfirm();
    for (const _ of [1, 2, 3]) expect(await fallback.append(some())).toBe(canWait);
    if (!canWait)
      expect(fallback.state!.detail).toMatch(/appendfsync cannot be read.*REDIS_FALLBACK=trusted/);
    const entries = await denied();
    expect(entries.map(({ object, count }) => [object, count])).toEqual([['config|get', 1]]);
  });

  it('INFO says what it can', async () => {
    const fallback = await openStream({}, await asApp());
    await set('maxmemory-policy', 'allkeys-lfu');
    await set('appendonly', 'no');
    await fallback.append(some());
    expect(fallback.state!.detail).toMatch(/appendonly is off.*maxmemory-policy is allkeys-lfu/);
  });

  it('it is kept neither with INFO, where that is not permitted any more', async () => {
    const fallback = await openStream({}, await asApp());
    await redis.client().call('ACL', 'SETUSER', 'app', '-info');
    await fallback.append(some());
    expect(await fallback.append(some())).toBe(false);
    expect(fallback.state!.detail).toContain('maxmemory-policy cannot be read');
  });
});

describe('with WAITAOF, as of Redis 7.2', () => {
  /** What WAITAOF answers. */
  let answer: string;
  const withWaitAof: Rewrite = ([name]) => (name === 'waitaof' ? ['eval', answer, '0'] : undefined);
  const open = async () => {
    proxy = await startRedisProxy(redis.port, withWaitAof);
    return openStream({}, proxy.url);
  };

  it('each commit is kept once it is confirmed, whatever appendfsync is said to be', async () => {
    answer = 'return {1, 0}';
    await set('appendfsync', 'everysec');
    const fallback = await open();
    expect(fallback.state!.detail).toContain('each waits for the disk (WAITAOF)');
    expect(await fallback.append(some())).toBe(true);
    answer = 'return {0, 0}';
    expect(await fallback.append(some())).toBe(false);
    expect(fallback.state).toMatchObject({
      acknowledges: false,
      detail: expect.stringContaining('disk in time'),
    });
    answer = 'return {1, 0}';
    expect(await fallback.append(some())).toBe(true);
    expect(await count()).toBe(3);
  });

  it('one that is refused later confirms nothing', async () => {
    answer = 'return {1, 0}';
    const fallback = await open();
    answer = `return redis.error_reply('NOPERM no')`;
    expect(await fallback.append(some())).toBe(false);
  });
});

it('a Redis that is trusted keeps everything, which is said', async () => {
  await set('appendonly', 'no');
  const fallback = await openStream({ mode: 'trusted' });
  expect(await fallback.append(some())).toBe(true);
  await until(() =>
    lines.find(({ level, detail }) => level > 30 && detail?.includes('REDIS_FALLBACK is trusted')),
  );
});

it('one that is off acknowledges nothing, and is drained', async () => {
  const fallback = await openStream({ mode: 'off' });
  expect(fallback.state).toMatchObject({ acknowledges: false, isOff: true });
  await (await openStream()).append(some());
  expect(await fallback.streams()).toContain(stream);
  expect(await fallback.count()).toBe(1);
});
