import { StoreUnavailable } from '../../../src/receiver/store/circuit.ts';
import { appendSoon, appends, openFallback, readSoon, spilled, stream } from '../../support/fallback.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis('test');

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

it.each([
  ['CONFIG', 'appendfsync is not always, or not readable'],
  ['INFO', 'maxmemory-policy is not readable'],
])('acknowledges nothing where %s is refused, and names REDIS_FALLBACK', async (command, detail) => {
  const rights = ['~*', '&*', '+@all', `-${command.toLowerCase()}`];
  await redis.client().call('ACL', 'SETUSER', 'app', 'on', '>secret', ...rights);
  const fallback = await openFallback(redis.url.replace('//', '//app:secret@'));
  await expect(fallback.append(spilled())).rejects.toThrow(StoreUnavailable);
  expect(await fallback.check()).toMatchObject({
    acknowledges: false,
    detail: expect.stringContaining(detail),
    todo: expect.stringContaining('REDIS_FALLBACK=trusted'),
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
