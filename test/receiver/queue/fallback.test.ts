import { StoreUnavailable } from '../../../src/receiver/store/circuit.ts';
import {
  appendSoon,
  appends,
  openFallback,
  owner,
  readSoon,
  spilled,
  startOwnRedis,
  stream,
} from '../../support/fallback.ts';
import { type TestRedis, useRedis } from '../../support/redis.ts';
import { until } from '../../support/until.ts';

const redis = useRedis('test');

const idsIn = async (server: TestRedis) =>
  (await server.client().xrange(stream, '-', '+')).map(([, fields]) => fields[fields.indexOf('id') + 1]);
it('returns deliveries byte for byte in the order of their arrival, and removes what is drained', async () => {
  const fallback = await openFallback(redis.url);
  const bodies = ['{"name":"\u0b95"}', Buffer.from([0, 255, 128, 10]).toString('latin1'), '{}'];
  const deliveries = bodies.flatMap((body) => spilled(1, body));
  await fallback.append(deliveries);
  const entries = await readSoon(fallback);
  expect(entries).toEqual(deliveries.map((delivery) => ({ ...delivery, entryId: expect.any(String) })));
  expect(await fallback.read(1)).toEqual(entries.slice(0, 1));
  expect(await fallback.read(1, entries[0]!.entryId)).toEqual(entries.slice(1, 2));
  const oldest = new Date(Number.parseInt(entries[0]!.entryId, 10));
  expect(await fallback.waiting()).toEqual({ count: 3, oldest });
  await fallback.remove(entries.slice(0, 2));
  expect(await idsIn(redis)).toEqual([deliveries[2]!.id]);
  await fallback.remove(entries);
  expect(await fallback.waiting()).toEqual({ count: 0, oldest: undefined });
});

it('keeps what it has acknowledged when Redis is killed, and goes on after its restart', async () => {
  const fallback = await openFallback(redis.url);
  const acknowledged: string[] = [];
  let stop = false;
  const send = async () => {
    while (!stop) {
      const [delivery] = spilled();
      if (await appends(fallback, [delivery!])) acknowledged.push(delivery!.id);
      await new Promise(setImmediate);
    }
  };
  const senders = Array.from({ length: 10 }, send);
  await until(() => acknowledged.length > 200);
  await redis.kill();
  expect(await fallback.check()).toMatchObject({ acknowledges: false });
  const before = acknowledged.length;
  await redis.restart();
  await until(() => acknowledged.length > before + 100);
  stop = true;
  await Promise.all(senders);
  const kept = new Set(await idsIn(redis));
  expect(acknowledged.filter((id) => !kept.has(id))).toEqual([]);
});

it('fails in time while Redis hangs, and goes on after it', async () => {
  const fallback = await openFallback(redis.url);
  redis.signal('SIGSTOP');
  await expect(fallback.append(spilled())).rejects.toThrow(StoreUnavailable);
  expect(await fallback.check()).toMatchObject({ acknowledges: false });
  redis.signal('SIGCONT');
  const [delivery] = await appendSoon(fallback);
  expect(await idsIn(redis)).toContain(delivery!.id);
});

it('goes on after Redis was away at the start, and after it was flushed', async () => {
  await redis.kill();
  const opening = openFallback(redis.url);
  await redis.restart();
  const fallback = await opening;
  await appendSoon(fallback);
  await redis.client().flushall();
  await appendSoon(fallback);
  expect(await fallback.waiting()).toMatchObject({ count: 1 });
});

it('takes nothing into a full Redis, which can be drained nevertheless', async () => {
  const fallback = await openFallback(redis.url);
  const [delivery] = await appendSoon(fallback);
  await redis.client().config('SET', 'maxmemory', '1');
  await expect(fallback.append(spilled())).rejects.toThrow(StoreUnavailable);
  expect(await fallback.check()).toMatchObject({ acknowledges: false });
  expect(await fallback.claim('a')).toBe(true);
  const entries = await fallback.read(10);
  expect(entries.map(({ id }) => id)).toEqual([delivery!.id]);
  await fallback.remove(entries);
  await redis.client().config('SET', 'maxmemory', '0');
  await appendSoon(fallback);
});

it('acknowledges nothing with a replica, and stores nothing in one, even if that can be written to', async () => {
  const replica = await startOwnRedis(['--replicaof', '127.0.0.1', String(redis.port)]);
  await replica.client().config('SET', 'replica-read-only', 'no');
  const fallback = await openFallback(redis.url);
  await until(async () => (await fallback.check()).detail.includes('it has a replica'));
  expect(await appends(fallback)).toBe(false);
  expect(await appends(await openFallback(replica.url))).toBe(false);
  expect([await redis.client().xlen(stream), await replica.client().xlen(stream)]).toEqual([0, 0]);
});

it('takes no delivery of a database into the entries of another one', async () => {
  const [one, other] = [await openFallback(redis.url), await openFallback(redis.url)];
  await one.claim('staging');
  expect(await other.claim('production')).toBe(false);
  expect([await appends(one), await appends(other)]).toEqual([true, false]);
  expect((await other.check()).detail).toContain('QUEUE_PREFIX');
  await redis.client().del(owner); // as if it had expired
  expect([await appends(other), await appends(one)]).toEqual([true, false]);
});

it('is drained by one database; another one may once that is silent for five minutes', async () => {
  const [one, other] = [await openFallback(redis.url), await openFallback(redis.url)];
  expect([await one.claim('a'), await other.claim('b'), await one.claim('a')]).toEqual([true, false, true]);
  expect(await redis.client().ttl(owner)).toBeGreaterThan(290);
  await redis.client().del(owner); // as if it had expired
  expect([await other.claim('b'), await one.claim('a')]).toEqual([true, false]);
});
