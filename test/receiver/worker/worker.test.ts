import { families } from '../../../src/callbacks/families/index.ts';
import type { Times } from '../../../src/common/config/limits.ts';
import { createLog } from '../../../src/common/log.ts';
import { JobPostponed } from '../../../src/receiver/queue/delivery-queue.ts';
import { OtherFamilies } from '../../../src/receiver/store/errors.ts';
import { createMerge, type Merge } from '../../../src/receiver/worker/merge.ts';
import { mergeStale } from '../../../src/receiver/worker/merge-stale.ts';
import { startWorker, type Worker, type WorkerOptions } from '../../../src/receiver/worker/worker.ts';
import { coreOf } from '../../support/core.ts';
import { allowConnections, isWaiting, whileLocked } from '../../support/database.ts';
import { formOf, receiptOf, yesterday } from '../../support/intake.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';
import { testConfig } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const database = useReceiverDatabase('test');
const log = createLog('silent');
/** Longer than any test. */
const never = 1_000_000;

let worker: Worker | undefined;
afterEach(async () => {
  await worker?.stop();
  worker = undefined;
});

const openMerge = (): Merge => createMerge({ pool: database.pool, families, log });

/** A worker that looks for nothing by itself, unless told to, and the calls of its merge. */
function begin({
  times,
  ...options
}: Partial<Omit<WorkerOptions, 'times'>> & { times?: Partial<Times> } = {}) {
  const merge = jest.fn(options.merge ?? openMerge());
  worker = startWorker({
    ...{ pool: database.pool, families, log, ...options, merge },
    times: testConfig({ times: { sweepEveryMs: never, pollMs: never, ...times } }).times,
  });
  return { worker, calls: merge.mock.calls };
}

/** A queue whose jobs a test runs. */
function fakeQueue() {
  let start: Parameters<NonNullable<WorkerOptions['queue']>['startJobs']>[0];
  return {
    run: (family: string, ids: readonly string[]) => start(family, ids, new AbortController().signal),
    startJobs: (run: typeof start) => {
      start = run;
      return async () => {};
    },
  };
}

/** Resolves once nothing waits, but for what has failed. */
const untilMerged = () =>
  until(async () => (await database.count(`receiver.pending_deliveries where next_at < 'infinity'`)) === 0);

it('merges what is stored at once where it is woken, and by itself without', async () => {
  const woken = begin();
  await database.store(receiptOf(1));
  woken.worker.wake('receipt');
  await until(async () => (await database.count('receipts')) === 1);
  await woken.worker.stop();
  begin({ times: { pollMs: 10 } });
  await database.store(receiptOf(2), formOf('m'));
  await until(
    async () => (await database.count('receipts')) === 2 && (await database.count('consent_forms')) === 1,
  );
});

it('jobs that wait together share a merge', async () => {
  const queue = fakeQueue();
  const { calls } = begin({ queue });
  const deliveries = Array.from({ length: 20 }, (_, n) => receiptOf(n));
  await database.store(...deliveries);
  await Promise.all(deliveries.map(({ id }) => queue.run('receipt', [id])));
  expect(await database.count('receipts')).toBe(20);
  expect(calls.length).toBeLessThanOrEqual(3);
});

it('a job of more deliveries than a merge takes ends when all are merged', async () => {
  const queue = fakeQueue();
  begin({ queue });
  const deliveries = Array.from({ length: 1_100 }, (_, n) => receiptOf(n));
  await database.store(...deliveries);
  await queue.run(
    'receipt',
    deliveries.map(({ id }) => id),
  );
  expect(await database.count('receipts')).toBe(1_100);
});

it('a job of a family that the worker or the tables do not know is for another worker', async () => {
  const queue = fakeQueue();
  const merge = createMerge({ pool: database.pool, families: families.slice(0, -1), log });
  begin({ queue, merge });
  const one = receiptOf(1);
  await database.store(one);
  await expect(queue.run('receipt', [one.id])).rejects.toThrow(OtherFamilies);
  await expect(queue.run('a family of the next version', [one.id])).rejects.toThrow(OtherFamilies);
});

it('a stop ends the daily merge in the middle of a statement', async () => {
  const stopping = new AbortController();
  await whileLocked(database, 'lock table receiver.inbox in access exclusive mode', async () => {
    const looking = mergeStale(coreOf(database), stopping.signal);
    await until(() => isWaiting(database, `relation = 'receiver.inbox'::regclass`));
    stopping.abort();
    await expect(looking).rejects.toThrow();
  });
});

it('a stop after the daily merge ends no connection that others use by then', async () => {
  const stopping = new AbortController();
  await mergeStale(coreOf(database), stopping.signal);
  const clients = await Promise.all(
    Array.from({ length: database.pool.totalCount }, () => database.pool.connect()),
  );
  stopping.abort();
  await Promise.all(clients.map((client) => client.query('select 1')));
  for (const client of clients) client.release();
});

it('deliveries whose jobs are lost are merged by the sweep, once they have waited', async () => {
  const wait = () =>
    database.rows(
      `update receiver.pending_deliveries set next_at = now() - interval '1 minute' where family = 'receipt'`,
    );
  await database.store(receiptOf(1), formOf('m'));
  await wait();
  begin({ queue: fakeQueue(), times: { sweepEveryMs: 20, sweepAgeMs: 50_000 } });
  await until(async () => (await database.count('receipts')) === 1);
  await database.store(receiptOf(2));
  await wait();
  await until(async () => (await database.count('receipts')) === 2);
  expect(await database.count('consent_forms')).toBe(0);
});

it('a job is postponed while the database is away, and what it names is merged once it is back', async () => {
  const queue = fakeQueue();
  const { calls } = begin({ queue, times: { sweepEveryMs: 20, sweepAgeMs: 0 } });
  const one = receiptOf(1);
  await allowConnections(database, false);
  const postpone = () => expect(queue.run('receipt', [one.id])).rejects.toThrow(JobPostponed);
  await postpone();
  // During a pause, without a merge.
  await until(async () => {
    const before = calls.length;
    await postpone();
    return calls.length === before;
  });
  await allowConnections(database, true);
  await database.store(one);
  await until(async () => (await database.count('receipts').catch(() => 0)) === 1);
});

it('stop lets the merge in flight end, and takes no other', async () => {
  let release = () => {};
  const merge = openMerge();
  const { worker: one, calls } = begin({
    merge: async (...request) => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return merge(...request);
    },
  });
  await database.store(receiptOf(1), formOf('m'));
  one.wake('receipt');
  one.wake('consent_form');
  await until(() => calls.length === 1);
  const stopped = one.stop();
  release();
  await stopped;
  expect(calls).toHaveLength(1);
  expect((await database.count('receipts')) + (await database.count('consent_forms'))).toBe(1);
});

it('a record whose pending row was lost is merged again; one that waits or failed is not', async () => {
  const { worker: one } = begin({ times: { pollMs: 10 } });
  const late = receiptOf(1, { name: 'late', mobile: '+919800000000' }, { event_time: yesterday + 1 });
  await database.store(
    receiptOf(1, { name: 'newest' }, { event_time: yesterday + 2 }),
    receiptOf(2),
    receiptOf(3),
    receiptOf(4),
    formOf('m'),
  );
  await untilMerged();
  await one.stop();
  expect(await mergeStale(coreOf(database))).toBe(0);
  // An older callback, a newer one, one whose data is refused, and one that has failed.
  await database.store(
    late,
    receiptOf(3, { name: 'new' }, { event_time: yesterday + 1 }),
    receiptOf(4, { net_amount: -1 }, { event_time: yesterday + 1 }),
  );
  await database.rows(`delete from receiver.pending_deliveries;
    alter table receipts add constraint positive check (net_amount > 0)`);
  await database.store(receiptOf(2, {}, { event_time: yesterday + 1 }));
  await database.rows(`update receiver.pending_deliveries set next_at = 'infinity'`);
  expect(await mergeStale(coreOf(database))).toBe(2);
  const { worker: other } = begin({ times: { pollMs: 10 } });
  await untilMerged();
  await other.stop();
  expect(
    await database.rows('select receipt_id::int as id, name, mobile from receipts order by 1'),
  ).toMatchObject([{ name: 'newest', mobile: '+919800000000' }, { id: 2 }, { name: 'new' }, { id: 4 }]);
  expect(await database.count(`deliveries where status = 'failed'`)).toBe(2);
  expect(await mergeStale(coreOf(database))).toBe(0);
});

it('the daily merge looks at what was stored since the last one, and at what waited then', async () => {
  await database.store(receiptOf(1), receiptOf(2));
  await openMerge()('receipt');
  await database.rows(`update receiver.inbox set stored_at = now() - interval '5 days'`);
  await database.store(receiptOf(1, { name: 'x' }, { event_time: yesterday + 1 }));
  await database.rows(`update receiver.inbox set stored_at = now() - interval '4 days' where event_time = (
    select max(event_time) from receiver.inbox)`);
  expect(await mergeStale(coreOf(database))).toBe(0);
  await database.rows(
    `delete from receiver.pending_deliveries; update receipts set name = 'changed by hand'`,
  );
  // Of the second record nothing was stored since.
  expect(await mergeStale(coreOf(database))).toBe(1);
  expect(await database.rows('select name from receipts order by receipt_id')).toEqual([
    { name: 'x' },
    { name: 'changed by hand' },
  ]);
});
