import type { Delivery } from '../../../src/callbacks/delivery.ts';
import { families } from '../../../src/callbacks/families/index.ts';
import { createLog } from '../../../src/common/log.ts';
import { insertDeliveries } from '../../../src/receiver/store/insert-deliveries.ts';
import { inTransaction, openPool } from '../../../src/receiver/store/pools.ts';
import { createMerge, type Merge } from '../../../src/receiver/worker/merge.ts';
import { mergeStale } from '../../../src/receiver/worker/merge-stale.ts';
import { startWorker, type Worker, type WorkerOptions } from '../../../src/receiver/worker/worker.ts';
import { allowConnections } from '../../support/database.ts';
import { deliveryOf } from '../../support/intake.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';
import { until } from '../../support/until.ts';

const database = useReceiverDatabase('test');
const log = createLog('silent');
const start = Math.floor(Date.now() / 1000) - 86_400;
const receipt = (receipt_id: number, data: object = {}, later = 0) =>
  deliveryOf({
    event: 'receipt.updated',
    event_time: start + later,
    business_id: 'b',
    data: { receipt_id, ...data },
  });
const form = (id: string) =>
  deliveryOf({ event: 'mcert.created', event_time: start, business_id: 'b', data: { id } });
const store = (...deliveries: Delivery[]) => insertDeliveries(database.pool, deliveries, 60_000);
const count = async (table: string) =>
  (await database.rows(`select count(*)::int as n from ${table}`))[0]!.n as number;
const pending = () => database.rows('select id, error from receiver.pending_deliveries');
/** Longer than any test. */
const never = 1_000_000;

let worker: Worker | undefined;
afterEach(async () => {
  await worker?.stop();
  worker = undefined;
});

const openMerge = (): Merge => createMerge({ pool: database.pool, families, log });

/** A worker that looks for nothing by itself, unless told to, and the calls of its merge. */
function begin(options: Partial<WorkerOptions> = {}) {
  const calls: string[] = [];
  const merge = options.merge ?? openMerge();
  const counted: Merge = (family, request) => {
    calls.push(family);
    return merge(family, request);
  };
  worker = startWorker({
    ...{ pool: database.pool, families, log, sweep: { everyMs: never, pollMs: never }, ...options },
    merge: counted,
  });
  return { worker, calls };
}

/** A queue whose jobs a test runs. */
function fakeQueue() {
  type Run = Parameters<NonNullable<WorkerOptions['queue']>['startJobs']>[0];
  const queue = {
    run: undefined as unknown as Run,
    startJobs: (run: Run) => {
      queue.run = run;
      return async () => {};
    },
  };
  return queue;
}

/** Resolves once nothing waits, but for what has failed. */
const untilMerged = () =>
  until(
    async () =>
      (await database.rows(`select from receiver.pending_deliveries where next_at < 'infinity'`)).length ===
      0,
  );

it('merges what is stored at once where it is woken, and by itself without', async () => {
  const woken = begin();
  await store(receipt(1));
  woken.worker.wake(['receipt']);
  await until(async () => (await count('receipts')) === 1);
  await woken.worker.stop();
  begin({ sweep: { pollMs: 10 } });
  await store(receipt(2), form('m'));
  await until(async () => (await count('receipts')) === 2 && (await count('consent_forms')) === 1);
});

it('merges all that is due, however much there is', async () => {
  await store(...Array.from({ length: 1_200 }, (_, n) => receipt(n)), form('m'));
  const { worker: one } = begin();
  one.wake(['receipt', 'consent_form']);
  await untilMerged();
  expect(await count('receipts')).toBe(1_200);
});

it('jobs that wait together share a merge', async () => {
  const queue = fakeQueue();
  const { calls } = begin({ queue });
  const deliveries = Array.from({ length: 20 }, (_, n) => receipt(n));
  await store(...deliveries);
  await Promise.all(deliveries.map(({ id }) => queue.run([id], ['receipt'])));
  await untilMerged();
  expect(calls.length).toBeLessThanOrEqual(3);
});

it('a job of several families merges them all, and ignores those of another version', async () => {
  const queue = fakeQueue();
  begin({ queue });
  const [one, two] = [receipt(1), form('m')];
  await store(one, two);
  await queue.run([one.id, two.id], ['receipt', 'consent_form', 'of_tomorrow']);
  await untilMerged();
  expect([await count('receipts'), await count('consent_forms')]).toEqual([1, 1]);
});

it('a job of more deliveries than one merge takes is merged whole', async () => {
  const queue = fakeQueue();
  begin({ queue });
  const deliveries = Array.from({ length: 1_100 }, (_, n) => receipt(n));
  await store(...deliveries);
  await queue.run(
    deliveries.map(({ id }) => id),
    ['receipt'],
  );
  await untilMerged();
  expect(await count('receipts')).toBe(1_100);
});

it('a stop ends the daily comparison in the middle of a statement', async () => {
  const stopping = new AbortController();
  const client = await database.pool.connect();
  await client.query('begin; lock table receiver.inbox in access exclusive mode');
  const looking = mergeStale({ db: database.db, pool: database.pool, families, log }, stopping.signal);
  const waits = `select from pg_locks where relation = 'receiver.inbox'::regclass and not granted`;
  await until(async () => (await database.rows(waits)).length > 0);
  stopping.abort();
  await expect(looking).rejects.toThrow();
  await client.query('rollback');
  client.release();
});

it('a stop after the daily comparison ends no connection that others use by then', async () => {
  const stopping = new AbortController();
  await mergeStale({ db: database.db, pool: database.pool, families, log }, stopping.signal);
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
  await store(receipt(1), form('m'));
  await wait();
  begin({ queue: fakeQueue(), sweep: { everyMs: 20, olderThanMs: 50_000 } });
  await until(async () => (await count('receipts')) === 1);
  // By a later look.
  await store(receipt(2));
  await wait();
  await until(async () => (await count('receipts')) === 2);
  expect(await count('consent_forms')).toBe(0);
});

it('a family whose table lacks a column waits alone with its reason, and is merged afterwards', async () => {
  await database.rows('alter table receipts rename column name to other');
  const queue = fakeQueue();
  begin({ queue, sweep: { everyMs: 20, olderThanMs: 0 } });
  const [one, two] = [receipt(1, { name: 'x' }), form('m')];
  await store(one, two);
  await queue.run([one.id, two.id], ['receipt', 'consent_form']);
  await until(async () => (await count('consent_forms')) === 1);
  await until(async () => String((await pending())[0]!.error).includes('42703'));
  expect(await pending()).toMatchObject([{ id: one.id }]);
  await database.rows('alter table receipts rename column other to name');
  await until(async () => (await database.rows('select name from receipts')).length === 1);
});

it('what a job names while the database is away is merged once it is back', async () => {
  const queue = fakeQueue();
  const { calls } = begin({ queue, sweep: { everyMs: 20, olderThanMs: 0 } });
  const one = receipt(1);
  await allowConnections(database, false);
  await queue.run([one.id], ['receipt']);
  // A merge has failed.
  await until(() => calls.length > 0);
  await allowConnections(database, true);
  await store(one);
  await until(async () => (await count('receipts').catch(() => 0)) === 1);
});

it.each(['database', 'role'])(
  'what waits while a setting of the %s makes sessions read-only is applied once it does not',
  async (of) => {
    const name = new URL(database.url).pathname.slice(1);
    const alter = (setting: string) =>
      inTransaction(database.pool, 'set transaction read write', (client) =>
        client.query(`alter ${of === 'role' ? 'role current_user in ' : ''}database ${name} ${setting}`),
      );
    await store(receipt(1));
    await alter('set default_transaction_read_only = on');
    const pool = openPool(database.url, log, { name: 'test', connections: 3, connectTimeoutMs: 60_000 });
    const merge = createMerge({ pool, families, log });
    const outcomes: string[] = [];
    const counted: Merge = (...request) =>
      merge(...request).catch((error) => {
        outcomes.push(error.code);
        throw error;
      });
    begin({ pool, merge: counted, sweep: { pollMs: 10 } });
    await until(() => outcomes.length > 1);
    await alter('reset default_transaction_read_only');
    await until(async () => (await count('receipts')) === 1);
    expect(new Set(outcomes)).toEqual(new Set(['25006']));
    await worker!.stop();
    await pool.end();
  },
);

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
  await store(receipt(1), form('m'));
  one.wake(['receipt', 'consent_form']);
  await until(() => calls.length === 1);
  const stopped = one.stop();
  release();
  await stopped;
  expect(calls).toHaveLength(1);
  expect((await count('receipts')) + (await count('consent_forms'))).toBe(1);
});

it('a record whose pending row was lost is merged again; one that waits or failed is not', async () => {
  const core = { db: database.db, pool: database.pool, families, log };
  const { worker: one } = begin({ sweep: { pollMs: 10 } });
  const late = receipt(1, { name: 'late', mobile: '+919800000000' }, 1);
  await store(receipt(1, { name: 'newest' }, 2), receipt(2), receipt(3), receipt(4), form('m'));
  await untilMerged();
  await one.stop();
  expect(await mergeStale(core)).toBe(0);
  // An older callback, a newer one, one whose data is refused, and one that has failed.
  await store(late, receipt(3, { name: 'new' }, 1), receipt(4, { net_amount: -1 }, 1));
  await database.rows(`delete from receiver.pending_deliveries;
    alter table receipts add constraint positive check (net_amount > 0)`);
  await store(receipt(2, {}, 1));
  await database.rows(`update receiver.pending_deliveries set next_at = 'infinity'`);
  expect(await mergeStale(core)).toBe(3);
  const { worker: other } = begin({ sweep: { pollMs: 10 } });
  await untilMerged();
  await other.stop();
  expect(
    await database.rows('select receipt_id::int as id, name, mobile from receipts order by 1'),
  ).toMatchObject([{ name: 'newest', mobile: '+919800000000' }, { id: 2 }, { name: 'new' }, { id: 4 }]);
  expect(await count(`deliveries where status = 'failed'`)).toBe(2);
  expect(await mergeStale(core)).toBe(0);
});

it('the daily comparison looks at what was stored since the last one, and at what waited then', async () => {
  const core = { db: database.db, pool: database.pool, families, log };
  await store(receipt(1), receipt(2));
  await openMerge()('receipt');
  await database.rows(`update receiver.inbox set stored_at = now() - interval '5 days'`);
  await store(receipt(1, { name: 'x' }, 1));
  await database.rows(`update receiver.inbox set stored_at = now() - interval '4 days' where event_time = (
    select max(event_time) from receiver.inbox)`);
  expect(await mergeStale(core)).toBe(0);
  await database.rows(
    `delete from receiver.pending_deliveries; update receipts set name = 'changed by hand'`,
  );
  // Of the second record nothing was stored since.
  expect(await mergeStale(core)).toBe(1);
  expect(await openMerge()('receipt')).toMatchObject({ merged: 1, written: 1 });
});
