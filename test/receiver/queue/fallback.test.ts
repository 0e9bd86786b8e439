import { once } from 'node:events';
import type { Fallback } from '../../../src/receiver/queue/fallback.ts';
import { StoreUnavailable } from '../../../src/receiver/store/circuit.ts';
import {
  appendSoon,
  appends,
  openFallback,
  owner,
  readSoon,
  spilled,
  startAddress,
  startOwnRedis,
  stream,
} from '../../support/fallback.ts';
import type { TestRedis } from '../../support/redis.ts';
import { until } from '../../support/until.ts';

let redis: TestRedis;
beforeEach(async () => {
  redis = await startOwnRedis();
});

const startReplica = () => startOwnRedis(['--replicaof', '127.0.0.1', String(redis.port)]);
const kill = async () => {
  redis.process.kill('SIGKILL');
  await once(redis.process, 'exit');
};
const idsIn = async (server: TestRedis) =>
  (await server.client().xrange(stream, '-', '+')).map(([, fields]) => fields[fields.indexOf('id') + 1]);
const whenWaitsForReplica = (fallback: Fallback) =>
  until(() => fallback.state.detail.includes('for a replica'));

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

it('returns what another program has added, with its bytes', async () => {
  const fallback = await openFallback(redis.url);
  await redis.client().xadd(stream, '5-1', 'note', Buffer.from([255, 0]));
  await redis.client().xadd(stream, '5-2', 'body', '{"a":1}', 'id', '7', 'received_at', 'yesterday');
  expect(await readSoon(fallback, 2)).toEqual([
    { entryId: '5-1', id: '', family: '', receivedAt: 5_000, body: Buffer.from('note\xff\0', 'latin1') },
    { entryId: '5-2', id: '7', family: '', receivedAt: 5_000, body: Buffer.from('{"a":1}') },
  ]);
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
  await kill();
  await until(() => fallback.circuit.isOpen);
  expect(fallback.state.acknowledges).toBe(false);
  const before = acknowledged.length;
  await redis.restart();
  await until(() => acknowledged.length > before + 100);
  stop = true;
  await Promise.all(senders);
  const kept = new Set(await idsIn(redis));
  expect(acknowledged.filter((id) => !kept.has(id))).toEqual([]);
});

it('fails at once while Redis hangs, and goes on after it', async () => {
  const fallback = await openFallback(redis.url);
  redis.process.kill('SIGSTOP');
  await expect(fallback.append(spilled())).rejects.toThrow(StoreUnavailable);
  expect(fallback.circuit.isOpen).toBe(true);
  await expect(fallback.append(spilled())).rejects.toThrow(StoreUnavailable);
  redis.process.kill('SIGCONT');
  const [delivery] = await appendSoon(fallback);
  expect(await idsIn(redis)).toContain(delivery!.id);
});

it('goes on after Redis was away at the start, and after it was flushed', async () => {
  await kill();
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
  await redis.client().del(owner); // as if no process had been there for five minutes
  await redis.client().config('SET', 'maxmemory', '1');
  await expect(fallback.append(spilled())).rejects.toThrow(StoreUnavailable);
  expect(fallback.circuit.isOpen).toBe(true);
  const entries = await fallback.read(10);
  expect(entries.map(({ id }) => id)).toEqual([delivery!.id]);
  await fallback.remove(entries);
  await redis.client().config('SET', 'maxmemory', '0');
  await appendSoon(fallback);
});

describe('with a replica', () => {
  it('goes on after a fail-over with open connections, and has lost nothing that it acknowledged', async () => {
    const replica = await startReplica();
    const address = await startAddress(redis.port);
    // Nothing but a look shows what has happened: neither a claim nor a commit.
    const fallback = await openFallback(address.url, {}, new Promise(() => {}));
    await whenWaitsForReplica(fallback);
    const before = await appendSoon(fallback, spilled(20));
    // The primary has not been told yet.
    await replica.client().replicaof('NO', 'ONE');
    address.leadTo(replica.port);
    await until(() => !fallback.state.acknowledges);
    expect(await appends(fallback)).toBe(false);
    await redis.client().replicaof('127.0.0.1', replica.port);
    const after = await appendSoon(fallback, spilled(20));
    expect(fallback.circuit.unavailableSince).toBeUndefined();
    expect(await idsIn(replica)).toEqual(expect.arrayContaining([...before, ...after].map(({ id }) => id)));
  });

  it('acknowledges nothing in the moment after the replica was promoted', async () => {
    const replica = await startReplica();
    const fallback = await openFallback(redis.url, { times: { redisLookEveryMs: 3_600_000 } });
    await until(async () => /state=online/.test(await redis.client().info('replication')));
    await redis.client().call('CLIENT', 'KILL', 'TYPE', 'normal'); // so that it looks again
    await whenWaitsForReplica(fallback);
    await replica.client().replicaof('NO', 'ONE');
    expect(await appends(fallback)).toBe(false);
  });

  it('acknowledges nothing while it is missing, and without one once it is forgotten', async () => {
    const replica = await startReplica();
    const fallback = await openFallback(redis.url, { times: { forgetReplicaMs: 3_000 } });
    await whenWaitsForReplica(fallback);
    replica.process.kill('SIGKILL');
    await until(() => fallback.state.detail.includes('its replica is missing'));
    expect(await appends(fallback)).toBe(false);
    await appendSoon(fallback);
    expect(fallback.state.detail).not.toContain('replica');
  });

  it('acknowledges nothing that it does not confirm', async () => {
    const replica = await startReplica();
    const fallback = await openFallback(redis.url);
    await whenWaitsForReplica(fallback);
    replica.process.kill('SIGSTOP');
    expect(await appends(fallback)).toBe(false);
    expect(fallback.state.acknowledges).toBe(false);
    replica.process.kill('SIGCONT');
    await appendSoon(fallback);
  });

  it('stores nothing in the replica, even one that can be written to', async () => {
    const replica = await startReplica();
    await replica.client().config('SET', 'replica-read-only', 'no');
    const fallback = await openFallback(replica.url);
    expect(await appends(fallback)).toBe(false);
    expect(await replica.client().xlen(stream)).toBe(0);
  });
});

describe('the owner', () => {
  it('is one database: another one neither stores nor drains, and says what to do', async () => {
    const one = await openFallback(redis.url);
    const [delivery] = await appendSoon(one);
    await until(() => redis.client().get(owner));
    const other = await openFallback(redis.url, {}, Promise.resolve('b'));
    await until(() => other.state.todo.includes('QUEUE_PREFIX'));
    expect(await appends(other)).toBe(false);
    expect(await other.read(10)).toEqual([]);
    expect(other.circuit.isOpen).toBe(false);
    expect((await one.read(10)).map(({ id }) => id)).toEqual([delivery!.id]);
    expect(await idsIn(redis)).toEqual([delivery!.id]);
  });

  it('gives way to another one once it is silent for five minutes', async () => {
    const one = await openFallback(redis.url);
    await appendSoon(one);
    await until(async () => (await redis.client().ttl(owner)) > 290);
    one.close();
    const other = await openFallback(redis.url, {}, Promise.resolve('b'));
    await until(() => !other.state.acknowledges);
    await redis.client().del(owner); // as if it had expired
    await until(() => other.state.acknowledges);
    expect(await other.read(10)).toHaveLength(1);
  });

  it('is not known to a process that has not reached PostgreSQL: it stores, and does not drain', async () => {
    let reached = (_: string) => {};
    const identity = new Promise<string>((resolve) => {
      reached = resolve;
    });
    const fallback = await openFallback(redis.url, {}, identity);
    await appendSoon(fallback);
    expect(await fallback.read(10)).toEqual([]);
    reached('a');
    expect(await readSoon(fallback)).toHaveLength(1);
  });
});
