import type { Redis } from 'ioredis';
import { receiptCallback } from '../support/callbacks.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { type Deployment, startDeployment } from './deployment.ts';
import { send, sendUntilAcknowledged, untilApplied } from './sending.ts';

let deployment: Deployment;
let other: TestRedis | undefined;
afterEach(async () => {
  await deployment.stop();
  await other?.stop();
  other = undefined;
});

/** Sends callbacks of 3 kB, `senders` at a time. @returns the ids of those that are acknowledged, and all statuses */
async function sendLarge(count: number, senders = 20) {
  const acknowledged: string[] = [];
  const statuses = new Set<number>();
  let left = count;
  const sendMore = async () => {
    while (left > 0) {
      left -= 1;
      const data = { receipt_id: 1_000_000 + left, note: 'x'.repeat(3_000) };
      const { status, id } = await send(deployment, 'receipt', receiptCallback({ data }));
      statuses.add(status);
      if (status === 200) acknowledged.push(id);
    }
  };
  await Promise.all(Array.from({ length: senders }, sendMore));
  return { acknowledged, statuses: [...statuses] };
}

/** The deliveries in the fallback streams of a Redis. */
async function countInFallback(redis: Redis): Promise<number> {
  const streams = await redis.keys('*:fallback:*');
  const counts = await Promise.all(streams.map((stream) => redis.xlen(stream)));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Answers are shared for a second: one may be from before. */
const untilReadyz = (status: number) =>
  until(async () => (await fetch(`${deployment.url}/readyz`)).status === status);
const losses = () => deployment.rows('select id from lost_deliveries');
/** The lines about Redis as the fallback store. */
const said = () => deployment.logLines().filter((line) => /Redis is (no|the) fallback store/.test(line));

it('a Redis that begins to evict while PostgreSQL is away acknowledges nothing more, and loses nothing that it has acknowledged', async () => {
  deployment = await startDeployment('redis');
  const client = deployment.redis!.client();
  deployment.link.cut();
  const ids = await sendUntilAcknowledged(deployment, 300);
  await untilReadyz(200);
  const before = said().length;
  await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
  const used = Number(/used_memory:(\d+)/.exec(await client.info('memory'))![1]);
  await client.config('SET', 'maxmemory', String(used + 1_000_000));
  expect((await sendLarge(1_000)).statuses).toEqual([503]);
  await untilReadyz(503);
  expect(await countInFallback(client)).toBeGreaterThanOrEqual(ids.length);
  // Of the receiver and of the worker.
  await until(() => said().length === before + 2);
  expect(said().at(-1)).toMatch(/allkeys-lru.*CONFIG SET maxmemory-policy noeviction/);
  await deployment.link.restore();
  await untilApplied(deployment, ids);
  await untilReadyz(200);
  expect((await deployment.readiness()).fallback).toMatchObject({ ok: false });
  expect(await losses()).toEqual([]);
});

it('a Redis that evicts at the start acknowledges nothing while PostgreSQL is away, and does once it no longer evicts', async () => {
  other = await startRedis(['--maxmemory-policy', 'allkeys-lru']);
  deployment = await startDeployment('redis', { redisUrl: other.url });
  await untilReadyz(200);
  expect((await send(deployment)).status).toBe(200);
  deployment.link.cut();
  await untilReadyz(503);
  expect((await sendLarge(300)).statuses).toEqual([503]);
  await other.client().config('SET', 'maxmemory-policy', 'volatile-lru');
  const ids = await sendUntilAcknowledged(deployment, 20);
  await untilReadyz(200);
  await deployment.link.restore();
  await untilApplied(deployment, ids);
});

it('a Redis whose append-only file is switched off while PostgreSQL is away loses nothing that it has acknowledged, when it is killed', async () => {
  deployment = await startDeployment('redis');
  const redis = deployment.redis!;
  deployment.link.cut();
  const ids = await sendUntilAcknowledged(deployment, 200);
  await redis.client().config('SET', 'appendonly', 'no');
  expect((await sendLarge(500)).statuses).toEqual([503]);
  redis.process.kill('SIGKILL');
  await redis.restart();
  ids.push(...(await sendUntilAcknowledged(deployment, 50)));
  await deployment.link.restore();
  await untilApplied(deployment, ids);
  expect(await losses()).toEqual([]);
});

it('what Redis loses all the same is told: each of it, also in the log', async () => {
  deployment = await startDeployment('redis');
  deployment.link.cut();
  const ids = await sendUntilAcknowledged(deployment, 100);
  await deployment.redis!.client().flushall();
  const later = await sendUntilAcknowledged(deployment, 100);
  await deployment.link.restore();
  await untilApplied(deployment, later);
  await until(async () => (await losses()).length === ids.length);
  expect((await losses()).map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  const line = await until(() => deployment.logLines().find((one) => one.includes('lost_deliveries')));
  expect(JSON.parse(line)).toMatchObject({ level: 50, count: ids.length });
});
