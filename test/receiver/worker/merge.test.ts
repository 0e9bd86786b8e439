import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Delivery } from '../../../src/callbacks/delivery.ts';
import { families } from '../../../src/callbacks/families/index.ts';
import { createLog } from '../../../src/common/log.ts';
import type { MergeLimits } from '../../../src/receiver/store/statements/merge-records.ts';
import { createMerge, type MergeResult } from '../../../src/receiver/worker/merge.ts';
import { closeLater } from '../../support/close-later.ts';
import { isWaiting, whileLocked } from '../../support/database.ts';
import { deliveryOf, formOf, receiptOf, yesterday } from '../../support/intake.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';
import { until } from '../../support/until.ts';
import { race } from './race.ts';

const database = useReceiverDatabase('test');
const log = createLog('silent');
const patient: Partial<MergeLimits> = { statementMs: 30_000, mergeLockMs: 30_000, lockMs: 30_000 };
const open = (limits = patient) => createMerge({ pool: database.pool, families, log, limits });
const storeAndMerge = async (...deliveries: Delivery[]) => {
  await database.store(...deliveries);
  return open()('receipt');
};
const pending = () =>
  database.rows('select id, error, next_at = $1 as failed from receiver.pending_deliveries order by id', [
    'infinity',
  ]);
const receipts = () =>
  database.rows('select receipt_id::int as id, name, net_amount::float as net from receipts order by 1');

/** The record of receipt 1. */
const records = [{ businessId: 'b', recordId: '1' }];
const changes = () => database.rows('select record_id as id, kind from receiver.changes order by position');

/** A merge of receipts waits in the middle while `run` runs: its snapshot is taken, and its write is not made. */
async function inTheMiddle(run: () => Promise<unknown>, mergeReceipts = () => open()('receipt')) {
  await database.rows(`
    create function slow() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(1); return new; end $$;
    create trigger slow before insert on receipts for each row execute function slow()`);
  let merging: Promise<MergeResult> | undefined;
  await whileLocked(database, 'select pg_advisory_xact_lock(1)', async () => {
    merging = mergeReceipts();
    await until(() => isWaiting(database, `locktype = 'advisory'`));
    await run();
  });
  return merging!;
}

it('a callback that is committed during a merge stays pending, and a second merge waits for the first', async () => {
  await database.store(receiptOf(1, { name: 'first' }));
  let later: Promise<MergeResult> | undefined;
  const merged = await inTheMiddle(async () => {
    await database.store(receiptOf(1, { name: 'second' }, { event_time: yesterday + 1 }));
    later = open()('receipt');
    await until(() => isWaiting(database, `relation = 'receiver.merge_lock'::regclass`));
  });
  expect([merged, await later]).toMatchObject([{ merged: 1 }, { merged: 1 }]);
  expect(await pending()).toEqual([]);
  expect(await receipts()).toMatchObject([{ name: 'second' }]);
});

it('a record at fault fails alone, with a reason without its values, and a later callback clears it', async () => {
  await database.rows('alter table receipts add constraint positive check (net_amount > 0)');
  const receipts = Array.from({ length: 200 }, (_, n) => receiptOf(n, { net_amount: n === 117 ? -9876 : 1 }));
  await database.store(...receipts);
  expect(await open()('receipt')).toMatchObject({ merged: 199, failed: 1 });
  const [failure, ...others] = await pending();
  expect([failure, others]).toMatchObject([{ failed: true, error: expect.stringContaining('positive') }, []]);
  expect(failure!.error).not.toContain('9876');
  expect(await open()('receipt')).toMatchObject({ merged: 0, failed: 0 });
  await database.store(receiptOf(117, { net_amount: 5 }, { event_time: yesterday + 1 }));
  expect(await open()('receipt')).toMatchObject({ merged: 2 });
  expect(await pending()).toEqual([]);
});

it('a row that another session locks waits with its reason, and others go on', async () => {
  await storeAndMerge(receiptOf(1), receiptOf(2));
  await database.store(receiptOf(1, { name: 'x' }), receiptOf(2, { name: 'x' }), receiptOf(3, { name: 'x' }));
  await whileLocked(database, 'select from receipts where receipt_id = 2 for update', async () => {
    expect(await open()('receipt')).toMatchObject({ merged: 2, waiting: 1 });
  });
  expect(await pending()).toMatchObject([{ failed: false, error: expect.stringContaining('locked') }]);
  await database.rows('update receiver.pending_deliveries set next_at = now()');
  await open()('receipt');
  expect(await receipts()).toMatchObject([1, 2, 3].map((id) => ({ id, name: 'x' })));
});

it('a locked table, or one that lacks a column, waits alone with its reason, and is merged afterwards', async () => {
  await database.store(receiptOf(1, { name: 'x' }), formOf('m'));
  await whileLocked(database, 'lock table receipts in access exclusive mode', async () => {
    expect(await open()('receipt')).toMatchObject({ merged: 0, waiting: 1 });
    expect(await open()('consent_form')).toMatchObject({ merged: 1 });
  });
  expect(await pending()).toMatchObject([{ failed: false, error: expect.stringContaining('receipts') }]);
  await database.rows('alter table receipts rename column name to other');
  await database.rows('update receiver.pending_deliveries set next_at = now()');
  expect(await open()('receipt')).toMatchObject({ merged: 0, waiting: 1, failed: 0 });
  expect(await pending()).toMatchObject([{ failed: false, error: expect.stringContaining('42703') }]);
  await database.rows('alter table receipts rename column other to name');
  await until(async () => (await open()('receipt')).merged === 1);
});

it('a worker with other families leaves its deliveries waiting', async () => {
  await database.store(receiptOf(1));
  const other = createMerge({ pool: database.pool, families: families.slice(0, -1), log });
  expect(await other('receipt')).toMatchObject({ outcome: 'foreign', merged: 0 });
  expect(await pending()).toMatchObject([{ error: null }]);
  expect(await receipts()).toEqual([]);
});

it('a second merge writes nothing and records no change', async () => {
  await storeAndMerge(
    receiptOf(1, { name: 'x', created_at: '', further: { a: 1 } }),
    receiptOf(1, { net_amount: 5 }),
  );
  const all = () => database.rows('select xmin::text, r::text from receipts r');
  const [before, recorded] = [await all(), await changes()];
  expect(recorded).toEqual([{ id: '1', kind: 'changed' }]);
  expect(await open()('receipt', { records })).toMatchObject({ written: 0 });
  expect(await all()).toEqual(before);
  expect(await changes()).toEqual(recorded);
});

it('a record without callbacks loses its row, and the change is recorded', async () => {
  await storeAndMerge(receiptOf(1));
  await database.rows('delete from receiver.inbox; delete from receiver.changes');
  expect(await open()('receipt', { records, recordsChanges: false })).toMatchObject({ deleted: 1 });
  expect(await changes()).toEqual([{ id: '1', kind: 'erased' }]);
  expect(await receipts()).toEqual([]);
});

it('a merge that records no corrections records rows that come', async () => {
  await storeAndMerge(receiptOf(1, { name: 'x' }), receiptOf(2));
  await database.rows(`delete from receiver.changes; update receipts set name = 'y' where receipt_id = 1;
    delete from receipts where receipt_id = 2`);
  const both = [...records, { businessId: 'b', recordId: '2' }];
  expect(await open()('receipt', { records: both, recordsChanges: false })).toMatchObject({ written: 2 });
  expect(await changes()).toEqual([{ id: '2', kind: 'changed' }]);
});

it('while sessions are ended and rows locked, no row is wrong and nothing stays', async () => {
  const seed = Number(process.env.TEST_SEED ?? 1);
  expect(await race(database, (rounds) => rounds < 12, seed)).toMatchObject({ wrong: [], deadlocks: 0 });
});

it('an amount has the digits of its newest callback, whenever it is merged', async () => {
  // The newest one, which has none, is the row's delivery before and after.
  await storeAndMerge(
    receiptOf(1, { net_amount: '12.5' }),
    receiptOf(1, { name: 'x' }, { event_time: yesterday + 2 }),
  );
  await storeAndMerge(receiptOf(1, { net_amount: '12.50' }, { event_time: yesterday + 1 }));
  expect(await database.rows('select net_amount::text from receipts')).toEqual([{ net_amount: '12.50' }]);
  // Nothing that a reader would see is another value.
  expect(await changes()).toEqual([{ id: '1', kind: 'changed' }]);
});

it('a delivery that has failed stays failed while its table waits for other reasons', async () => {
  await database.rows('alter table receipts add constraint positive check (net_amount > 0)');
  await storeAndMerge(receiptOf(1, { net_amount: -1 }));
  await database.store(receiptOf(1, { name: 'x' }, { event_time: yesterday + 1 }));
  await whileLocked(database, 'lock table receipts in access exclusive mode', async () => {
    await open()('receipt');
  });
  expect((await pending()).map(({ failed }) => failed).sort()).toEqual([false, true]);
});

it('a merge that has no time left names what it leaves, which waits', async () => {
  await database.store(...Array.from({ length: 8 }, (_, n) => receiptOf(n)));
  await database.rows(`
    create function never() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return new; end $$;
    create trigger never before insert on receipts for each row execute function never()`);
  const merge = open({ maxDeliveries: 8, statementMs: 500, runMs: 700 });
  const { left } = await merge('receipt');
  expect({ left: left.length, waiting: (await pending()).length }).toEqual({ left: 8, waiting: 8 });
});

it('a copy that arrived earlier and is stored during a merge of the other one is merged by the next', async () => {
  const callback = {
    event: 'receipt.updated',
    event_time: yesterday,
    business_id: 'b',
    data: { receipt_id: 1 },
  };
  const now = Date.now() * 1000;
  await database.store(deliveryOf({ ...callback, timestamp: yesterday + 9 }, now));
  const merged = await inTheMiddle(() =>
    database.store(deliveryOf({ ...callback, timestamp: yesterday + 1 }, now - 1_000_000)),
  );
  expect(merged).toMatchObject({ merged: 0, written: 1 });
  expect(await pending()).toMatchObject([{ failed: false, error: null }]);
  expect(await open()('receipt')).toMatchObject({ merged: 1 });
});

it('a merge deletes the pending rows of exactly the callbacks that it has read, due or not', async () => {
  const [one, two, other] = [receiptOf(1), receiptOf(1, { name: 'x' }), receiptOf(2)];
  await database.store(one, two, other);
  await database.rows(`update receiver.pending_deliveries set next_at = 'infinity' where id <> $1`, [one.id]);
  const { merged } = await open()('receipt');
  expect(merged).toBe(2);
  expect(await pending()).toMatchObject([{ id: other.id, failed: true }]);
});

it('a merge takes deliveries up to its limit, and says whether more are due', async () => {
  await database.store(...Array.from({ length: 12 }, (_, n) => receiptOf(n)));
  const merge = open({ maxDeliveries: 8 });
  expect(await merge('receipt')).toMatchObject({ merged: 8, isFull: true });
  expect(await merge('receipt')).toMatchObject({ merged: 4, isFull: false });
});

it('a record for which a foreign trigger raises an error waits alone with its reason', async () => {
  await database.rows(`
    create function refuse() returns trigger language plpgsql as $$
      begin if new.receipt_id = 7 then raise exception 'not this one'; end if; return new; end $$;
    create trigger refuse before insert on receipts for each row execute function refuse()`);
  await database.store(...Array.from({ length: 70 }, (_, n) => receiptOf(n)));
  expect(await open()('receipt')).toMatchObject({ merged: 69, waiting: 1, failed: 0, outcome: 'done' });
  expect(await pending()).toMatchObject([{ failed: false, error: expect.stringContaining('P0001') }]);
});

it('a row that another session inserts meanwhile puts off its record alone', async () => {
  await database.store(receiptOf(1), receiptOf(2));
  const statement = `insert into receipts (business_id, receipt_id, client_id, last_event, event_time, delivery_id)
    values ('b', 1, '', '', now(), gen_random_uuid())`;
  const merge = open({ lockMs: 100 });
  await whileLocked(database, statement, async () => {
    expect(await merge('receipt')).toMatchObject({ merged: 1, waiting: 1, failed: 0 });
  });
  expect(await pending()).toMatchObject([{ failed: false, error: expect.stringContaining('55P03') }]);
});

it('a merge that others keep from merging leaves everything as it was', async () => {
  await database.store(receiptOf(1));
  const merge = open({ mergeLockMs: 100 });
  await whileLocked(database, 'lock table receiver.merge_lock in exclusive mode', async () => {
    expect(await merge('receipt')).toMatchObject({ outcome: 'busy', merged: 0 });
  });
  expect(await pending()).toMatchObject([{ error: null }]);
});

it('a pending row whose callback was deleted by hand goes, and nothing waits behind it', async () => {
  await database.store(receiptOf(1), receiptOf(2));
  await database.rows(`delete from receiver.inbox where record_id = '1'`);
  expect(await open()('receipt')).toMatchObject({ merged: 2, written: 1 });
  expect(await pending()).toEqual([]);
});

it('a column that was added by hand is left alone, and no reason to write', async () => {
  await storeAndMerge(receiptOf(1, { name: 'x' }));
  await database.rows(`alter table receipts add column note text; update receipts set note = 'mine'`);
  expect(await open()('receipt', { records })).toMatchObject({ written: 0 });
  await storeAndMerge(receiptOf(1, { name: 'y' }, { event_time: yesterday + 1 }));
  expect(await database.rows('select name, note from receipts')).toEqual([{ name: 'y', note: 'mine' }]);
});

it('a merge whose session is ended throws, and everything waits as it did', async () => {
  await database.store(receiptOf(1));
  const failing = inTheMiddle(() =>
    database.rows(
      `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and not granted`,
    ),
  );
  await expect(failing).rejects.toThrow();
  expect(await pending()).toMatchObject([{ failed: false, error: null }]);
  expect(await open()('receipt')).toMatchObject({ merged: 1 });
});

it('a process that is frozen in the middle of a merge is ended by PostgreSQL, and others go on', async () => {
  await database.store(receiptOf(1));
  let child: ChildProcess;
  await inTheMiddle(
    async () => void child.kill('SIGSTOP'),
    () => {
      const program = join(import.meta.dirname, 'merge-process.ts');
      child = spawn(process.execPath, ['--import', 'tsx', program, database.url], { stdio: 'ignore' });
      closeLater(() => child.kill('SIGKILL'));
      return Promise.resolve(undefined as unknown as MergeResult);
    },
  );
  const merge = open({});
  await until(async () => (await merge('receipt')).merged === 1);
  expect(await receipts()).toMatchObject([{ id: 1 }]);
});
