import { Pipeline } from 'ioredis';
import { StoreUnavailable } from '../../../src/receiver/store/circuit.ts';
import { closeLater } from '../../support/close-later.ts';
import {
  appendSoon,
  appends,
  openFallback,
  readSoon,
  spilled,
  startOwnRedis,
  stream,
} from '../../support/fallback.ts';
import type { TestRedis } from '../../support/redis.ts';

let redis: TestRedis;
beforeEach(async () => {
  redis = await startOwnRedis();
});

const set = (name: string, value: string) => redis.client().config('SET', name, value);
const count = () => redis.client().xlen(stream);

it('acknowledges with a maxmemory-policy that evicts no stream', async () => {
  await set('maxmemory-policy', 'volatile-ttl');
  const fallback = await openFallback(redis.url);
  expect(await appends(fallback)).toBe(true);
  expect(await fallback.check()).toMatchObject({ acknowledges: true, todo: '' });
  expect(await count()).toBe(1);
});

it.each([
  ['maxmemory-policy', 'allkeys-lru'],
  ['appendonly', 'no'],
  ['appendfsync', 'everysec'],
  ['no-appendfsync-on-rewrite', 'yes'],
])('writes nothing with %s %s until that is set as the state says', async (name, value) => {
  const running = await openFallback(redis.url);
  expect(await appends(running)).toBe(true);
  await set(name, value);
  for (const fallback of [running, await openFallback(redis.url)]) {
    await expect(fallback.append(spilled())).rejects.toThrow(StoreUnavailable);
    expect((await fallback.check()).detail).toContain(
      name === 'no-appendfsync-on-rewrite' ? 'appendfsync' : name,
    );
  }
  expect(await count()).toBe(1);
  for (const setting of /Set in Redis: ([^;]*)/.exec((await running.check()).todo)![1]!.split(', ')) {
    const [named, wanted] = setting.split(' ');
    await set(named!, wanted!);
  }
  await appendSoon(running);
  expect(await count()).toBe(2);
});

describe('where CONFIG is refused', () => {
  const openRefused = async (...rules: string[]) => {
    const rights = ['~*', '&*', '+@all', '-config', ...rules];
    await redis.client().call('ACL', 'SETUSER', 'app', 'on', '>secret', ...rights);
    return openFallback(redis.url.replace('//', '//app:secret@'));
  };
  /** The script that replies in place of WAITAOF, which Redis has from 7.2 on. */
  let reply: string;
  const openNew = (...rules: string[]) => {
    reply = 'return {1, 0}';
    const { call } = Pipeline.prototype;
    jest.spyOn(Pipeline.prototype, 'call').mockImplementation(function (this: Pipeline, ...args: [string]) {
      return args[0] === 'WAITAOF' ? this.eval(reply, 0) : call.apply(this, args);
    } as never);
    closeLater(() => jest.restoreAllMocks());
    return openRefused(...rules);
  };

  it('acknowledges what WAITAOF confirms, and nothing else', async () => {
    await set('appendfsync', 'everysec');
    const fallback = await openNew();
    expect(await appends(fallback)).toBe(true);
    reply = 'return {0, 0}';
    expect(await appends(fallback)).toBe(false);
    reply = 'return {1, 0}';
    await appendSoon(fallback);
    reply = `return redis.error_reply('NOPERM no')`;
    expect(await appends(fallback)).toBe(false);
  });

  it('acknowledges nothing without WAITAOF, and names REDIS_FALLBACK', async () => {
    const fallback = await openRefused();
    await expect(fallback.append(spilled())).rejects.toThrow(StoreUnavailable);
    expect(await fallback.check()).toMatchObject({
      acknowledges: false,
      detail: expect.stringContaining('not readable, and Redis has no WAITAOF'),
      todo: expect.stringContaining('REDIS_FALLBACK=trusted'),
    });
  });

  it('acknowledges nothing where INFO is refused too', async () => {
    const fallback = await openNew('-info');
    await expect(fallback.append(spilled())).rejects.toThrow(StoreUnavailable);
    expect((await fallback.check()).detail).toContain('maxmemory-policy is not readable');
  });
});

describe('REDIS_FALLBACK', () => {
  it('trusted acknowledges whatever the settings are', async () => {
    await set('appendonly', 'no');
    await set('maxmemory-policy', 'allkeys-lru');
    const fallback = await openFallback(redis.url, { redisFallback: 'trusted' });
    await appendSoon(fallback);
    expect(await count()).toBe(1);
  });

  it('off stores nothing, and what is there can be drained', async () => {
    const [delivery] = await appendSoon(await openFallback(redis.url));
    const fallback = await openFallback(redis.url, { redisFallback: 'off' });
    await expect(fallback.append(spilled())).rejects.toThrow(StoreUnavailable);
    expect(await readSoon(fallback)).toEqual([{ ...delivery, entryId: expect.any(String) }]);
  });
});
