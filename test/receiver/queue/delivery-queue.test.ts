import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Times } from '../../../src/common/config/limits.ts';
import { createLog } from '../../../src/common/log.ts';
import { type DeliveryQueue, openQueue } from '../../../src/receiver/queue/delivery-queue.ts';
import { OtherFamilies } from '../../../src/receiver/store/errors.ts';
import { startTcpProxy } from '../../chaos/tcp-proxy.ts';
import { closeLater } from '../../support/close-later.ts';
import { startOwnRedis } from '../../support/fallback.ts';
import { useRedis } from '../../support/redis.ts';
import { testConfig } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const redis = useRedis('test');
let client: Redis;
beforeEach(() => {
  client = redis.client().on('error', () => {});
});

function open(times: Partial<Times> = {}, url = redis.url): DeliveryQueue {
  const fast = { redisMs: 1_300, jobErrorMs: 50, jobEveryMs: 0 };
  const config = testConfig({ times: { ...fast, ...times } });
  const queue = openQueue({ url, config, log: createLog('silent') });
  closeLater(queue.close);
  return queue;
}

/** A worker. @param run what it does with a job; without it the job ends at once */
function work(queue: DeliveryQueue, run?: () => Promise<void>) {
  const ran: { ids: readonly string[]; family: string }[] = [];
  const stop = queue.startJobs(async (family, ids) => {
    ran.push({ ids, family });
    await run?.();
  });
  let stopped: Promise<void> | undefined;
  const stopOnce = () => {
    stopped ??= stop();
    return stopped;
  };
  closeLater(stopOnce);
  const hasRun = (id: string) => ran.some(({ ids }) => ids.includes(id));
  return { ran, hasRun, stop: stopOnce };
}

/** BullMQ's own view of the jobs. */
function openJobs(): Queue {
  const jobs = new Queue('deliveries', {
    connection: client,
    prefix: '{receiver}',
    skipMetasUpdate: true,
    skipVersionCheck: true,
  });
  closeLater(() => jobs.close());
  return jobs;
}

const untilCount = (jobs: Queue, state: 'active' | 'completed' | 'delayed' | 'waiting', count: number) =>
  until(async () => (await jobs.getJobCountByTypes(state)) === count);

async function addJobs(queue: DeliveryQueue, count: number) {
  await until(() => queue.isAvailable);
  for (let i = 0; i < count; i++) await queue.enqueue('receipt', [randomUUID()]);
}

const hang = () => new Promise<void>(() => {});

/** Enqueues a delivery, again and again as the sweep does, until it has run. */
async function enqueueUntilRun(queue: DeliveryQueue, { hasRun }: ReturnType<typeof work>) {
  const id = randomUUID();
  await until(
    async () => {
      await queue.enqueue('receipt', [id]);
      return hasRun(id);
    },
    undefined,
    50,
  );
}

/** Enqueues once the queue is connected. @returns the ids */
async function enqueueSoon(queue: DeliveryQueue, count = 1): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  await until(async () => {
    await queue.enqueue('receipt', ids);
    return (await client.exists('{receiver}:deliveries:id')) > 0;
  });
  return ids;
}

it('hands the deliveries of one commit to a worker of another process, as one job', async () => {
  const queue = open();
  const ids = await enqueueSoon(queue, 3);
  const { ran } = work(open());
  await until(() => ran.length > 0);
  expect(ran).toEqual([{ ids, family: 'receipt' }]);
  await untilCount(openJobs(), 'completed', 1);
});

it('stops while Redis is away', async () => {
  const queue = open({ jobCloseMs: 1 });
  const worker = work(queue);
  await enqueueSoon(queue);
  await until(() => worker.ran.length === 1);
  await redis.kill();
  await worker.stop();
  await queue.close();
});

it('never throws, and recovers by itself when Redis is away at the start, later, or hangs', async () => {
  await redis.kill();
  const queue = open();
  const worker = work(queue);
  await queue.enqueue('receipt', [randomUUID()]);
  await redis.restart();
  await enqueueUntilRun(queue, worker);
  await redis.kill();
  await queue.enqueue('receipt', [randomUUID()]);
  await redis.restart();
  await enqueueUntilRun(queue, worker);
  redis.signal('SIGSTOP');
  await queue.enqueue('receipt', [randomUUID()]);
  redis.signal('SIGCONT');
  await enqueueUntilRun(queue, worker);
});

it('a stop takes no more jobs and hands those back that run, without an attempt', async () => {
  const jobs = openJobs();
  const queue = open();
  const worker = work(queue, hang);
  await addJobs(queue, 120);
  await untilCount(jobs, 'active', 100);
  await worker.stop();
  expect(await jobs.getJobCounts('active', 'waiting', 'delayed', 'failed')).toEqual({
    ...{ active: 0, waiting: 120, delayed: 0, failed: 0 },
  });
  expect((await jobs.getWaiting()).every(({ attemptsMade }) => attemptsMade === 0)).toBe(true);
  const { ran } = work(open());
  await untilCount(jobs, 'completed', 120);
  expect(ran).toHaveLength(120);
});

it('a job that hangs frees its place and is tried again', async () => {
  const jobs = openJobs();
  const queue = open({ jobMs: 100 });
  const { ran } = work(queue, hang);
  await addJobs(queue, 101);
  await until(() => ran.length > 101);
  expect((await jobs.getDelayed()).every(({ attemptsMade }) => attemptsMade >= 1)).toBe(true);
});

it('a job that its worker has lost is run again, and the worker takes others without a pause', async () => {
  const jobs = openJobs();
  const queue = open({ jobLockMs: 200, jobErrorMs: 3_600_000 });
  const ends: (() => void)[] = [];
  work(queue, () => new Promise<void>((resolve) => ends.push(resolve)));
  await addJobs(queue, 1);
  await until(() => ends.length === 1);
  await client.del('{receiver}:deliveries:1:lock');
  await until(() => ends.length === 2);
  for (const end of ends) end();
  await untilCount(jobs, 'completed', 1);
  await addJobs(queue, 1);
  await until(() => ends.length === 3);
  ends[2]!();
  await untilCount(jobs, 'completed', 2);
});

it('a job that a worker has no tables for waits for another one, without an attempt', async () => {
  const jobs = openJobs();
  const queue = open();
  const { stop } = work(queue, async () => {
    throw new OtherFamilies();
  });
  await addJobs(queue, 1);
  await untilCount(jobs, 'delayed', 1);
  await stop();
  expect(await jobs.getDelayed()).toMatchObject([{ attemptsMade: 0 }]);
  await (await jobs.getDelayed())[0]!.promote();
  const { ran } = work(open());
  await untilCount(jobs, 'completed', 1);
  expect(ran).toHaveLength(1);
});

it('follows a fail-over with open connections', async () => {
  const replica = await startOwnRedis(['--replicaof', '127.0.0.1', String(redis.port)]);
  const address = await startTcpProxy(redis.port);
  closeLater(address.stop);
  const queue = open({}, `redis://127.0.0.1:${address.port}`);
  const worker = work(queue);
  await enqueueUntilRun(queue, worker);
  await replica.client().replicaof('NO', 'ONE');
  address.leadTo(replica.port);
  await client.replicaof('127.0.0.1', replica.port);
  await enqueueUntilRun(queue, worker);
});

it('does not ask again at once where Redis refuses what a worker needs', async () => {
  await client.call('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all');
  const url = redis.url.replace('//', '//app:secret@');
  const queue = open({ jobErrorMs: 3_600_000 }, url);
  await enqueueUntilRun(queue, work(queue));
  await client.call('ACL', 'SETUSER', 'app', '-evalsha', '-eval');
  // Wakes the worker.
  await client.zadd('{receiver}:deliveries:marker', 0, '0');
  const refusals = async () =>
    Number(/cmdstat_evalsha:.*rejected_calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0);
  await until(async () => (await refusals()) > 0);
  for (let commands = 0; commands < 200; commands++) await client.ping();
  expect(await refusals()).toBeLessThan(10);
});
