import { Queue } from 'bullmq';
import type { Delivery } from '../../../src/callbacks/delivery.ts';
import { families } from '../../../src/callbacks/families/index.ts';
import type { Times } from '../../../src/common/config/limits.ts';
import { createLog } from '../../../src/common/log.ts';
import { openQueue } from '../../../src/receiver/queue/delivery-queue.ts';
import { createMerge } from '../../../src/receiver/worker/merge.ts';
import { startWorker } from '../../../src/receiver/worker/worker.ts';
import { closeLater } from '../../support/close-later.ts';
import { whileLocked } from '../../support/database.ts';
import { formOf, receiptOf, yesterday } from '../../support/intake.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';
import { useRedis } from '../../support/redis.ts';
import { testConfig } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const database = useReceiverDatabase('test');
const redis = useRedis('test');
const log = createLog('silent');

/** A worker with a queue, whose sweep finds nothing, and BullMQ's own view of its jobs. */
async function begin(times: Partial<Times> = {}) {
  const config = testConfig({ times: { jobEveryMs: 0, sweepEveryMs: 1_000_000, redisMs: 60_000, ...times } });
  const queue = openQueue({ url: redis.url, config, log });
  closeLater(queue.close);
  await queue.opening;
  const jobs = new Queue('deliveries', { connection: redis.client(), prefix: '{receiver}' });
  closeLater(() => jobs.close());
  const stores = { pool: database.pool, families };
  const merge = jest.fn(createMerge({ ...stores, log, limits: { mergeLockMs: 100 } }));
  const worker = startWorker({ ...stores, merge, queue, times: config.times, log });
  closeLater(worker.stop);
  const untilCount = (state: 'active' | 'completed' | 'delayed' | 'failed', n: number) =>
    until(async () => (await jobs.getJobCountByTypes(state)) === n);
  /** Stores deliveries with a job each. */
  const store = async (...deliveries: Delivery[]) => {
    await database.store(...deliveries);
    for (const { family, id } of deliveries) await queue.enqueue(family, [id]);
  };
  return { jobs, calls: merge.mock.calls, untilCount, store, enqueue: queue.enqueue };
}

it('a job is active while others merge, and completed once its rows are there, also where it is doubled', async () => {
  const { jobs, calls, untilCount, store, enqueue } = await begin();
  const one = receiptOf(1);
  await whileLocked(database, 'lock table receiver.merge_lock in exclusive mode', async () => {
    await store(one);
    await enqueue('receipt', [one.id]);
    await untilCount('active', 2);
    await until(() => calls.length >= 3);
    expect(await jobs.getJobCountByTypes('active')).toBe(2);
  });
  await untilCount('completed', 2);
  expect(await database.count('receipts')).toBe(1);
  // The only attempt.
  expect(await jobs.getCompleted()).toMatchObject([{ attemptsMade: 1 }, { attemptsMade: 1 }]);
});

it('a job whose data PostgreSQL refuses fails at once with the reason', async () => {
  await database.rows('alter table receipts add constraint positive check (net_amount > 0)');
  const { jobs, untilCount, store } = await begin();
  await store(receiptOf(1, { net_amount: -9876 }), receiptOf(2));
  await untilCount('failed', 1);
  await untilCount('completed', 1);
  const [job] = await jobs.getFailed();
  expect(job).toMatchObject({ attemptsMade: 1, failedReason: expect.stringContaining('positive') });
  expect(JSON.stringify(job)).not.toContain('9876');
});

it('a job whose row another session locks is delayed to the next attempt, and not merged before', async () => {
  const { jobs, untilCount, store } = await begin();
  await store(receiptOf(1));
  await untilCount('completed', 1);
  const later = receiptOf(1, { name: 'x' }, { event_time: yesterday + 1 });
  await database.store(later);
  await database.rows('update receiver.pending_deliveries set attempts = 5');
  await whileLocked(database, 'select from receipts for update', async () => {
    await store(later);
    await untilCount('delayed', 1);
  });
  const [job] = await jobs.getDelayed();
  expect(job).toMatchObject({ attemptsMade: 1, failedReason: expect.stringContaining('locked') });
  // By the pause of the delivery, 32 s; that of the job would be 1 s.
  expect(job!.delay).toBeGreaterThan(10_000);
  await job!.promote();
  await until(async () => (await jobs.getDelayed())[0]?.attemptsMade === 2);
  expect(await database.count('receiver.pending_deliveries')).toBe(1);
  await database.rows('update receiver.pending_deliveries set next_at = now()');
  await jobs.promoteJobs();
  await untilCount('completed', 2);
  expect(await database.rows('select name from receipts')).toEqual([{ name: 'x' }]);
});

it('jobs of a family that cannot be merged keep those of no other waiting', async () => {
  const { jobs, untilCount, store } = await begin();
  const receipts = Array.from({ length: 150 }, (_, n) => receiptOf(n));
  await whileLocked(database, 'lock table receipts in access exclusive mode', async () => {
    await store(...receipts, formOf('m'));
    await untilCount('completed', 1);
    await untilCount('active', 0);
    expect(await database.count('consent_forms')).toBe(1);
    expect(await jobs.getJobCounts('delayed', 'failed')).toEqual({ delayed: 150, failed: 0 });
  });
  await until(async () => {
    await database.rows('update receiver.pending_deliveries set next_at = now()');
    await jobs.promoteJobs();
    return (await jobs.getJobCountByTypes('completed')) === 151;
  });
  expect(await database.count('receipts')).toBe(150);
});

it('deliveries whose active jobs Redis loses are merged, and later jobs are run', async () => {
  const { untilCount, store } = await begin({ jobErrorMs: 1_000_000 });
  await whileLocked(database, 'lock table receiver.merge_lock in exclusive mode', async () => {
    await store(...Array.from({ length: 100 }, (_, n) => receiptOf(n)));
    await untilCount('active', 100);
    await redis.client().flushall();
    await redis.client().script('FLUSH');
  });
  await until(async () => (await database.count('receipts')) === 100);
  await store(receiptOf(100));
  await untilCount('completed', 1);
  await untilCount('active', 0);
});
