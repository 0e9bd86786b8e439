import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Delivery } from '../../../src/callbacks/delivery.ts';
import { families } from '../../../src/callbacks/families/index.ts';
import { createLog } from '../../../src/common/log.ts';
import { insertDeliveries } from '../../../src/receiver/store/insert-deliveries.ts';
import { createMerge, type MergeResult } from '../../../src/receiver/worker/merge.ts';
import type { MergeLimits } from '../../../src/receiver/worker/merge-once.ts';
import { deliveryOf } from '../../support/intake.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';
import { until } from '../../support/until.ts';
import { race } from './race.ts';

const database = useReceiverDatabase('test');
const log = createLog('silent');
const patient: Partial<MergeLimits> = { statementMs: 30_000, mergeLockMs: 30_000, lockMs: 30_000 };
const open = (limits = patient) => createMerge({ pool: database.pool, families, log, limits });
const start = Math.floor(Date.now() / 1000) - 86_400;
const receipt = (receipt_id: number, data: object = {}, envelope: object = {}) =>
  deliveryOf({
    event: 'receipt.updated',
    event_time: start,
    business_id: 'b',
    ...envelope,
    data: { receipt_id, ...data },
  });
const form = (id: string, data: object = {}) =>
  deliveryOf({ event: 'mcert.created', event_time: start, business_id: 'b', data: { id, ...data } });
const store = (...deliveries: Delivery[]) => insertDeliveries(database.pool, deliveries, 60_000);
const pending = () =>
  database.rows('select id, error, next_at = $1 as failed from receiver.pending_deliveries order by id', [
    'infinity',
  ]);
const receipts = () =>
  database.rows('select receipt_id::int as id, name, net_amount::float as net from receipts order by 1');

/** Runs while a session holds what a statement locks. */
async function whileLocked(statement: string, run: () => Promise<void>): Promise<void> {
  const client = await database.pool.connect();
  try {
    await client.query(`begin; ${statement}`);
    await run();
  } finally {
    await client.query('rollback');
    client.release();
  }
}

it('a lean update takes nothing away, and a deletion with nothing but its id keeps the row', async () => {
  await store(receipt(77, { name: 'Asha', net_amount: 500 }, { event: 'receipt.created' }));
  await store(receipt(77, { amount_paid: 500 }, { event_time: start + 1 }));
  await store(receipt(77, {}, { event: 'receipt.deleted', event_time: start + 2 }));
  expect(await open()('receipt')).toMatchObject({ merged: 3, written: 1 });
  expect(
    await database.rows('select name, net_amount, amount_paid, deleted_at is not null as gone from receipts'),
  ).toEqual([{ name: 'Asha', net_amount: '500', amount_paid: '500', gone: true }]);
  await store(receipt(77, { name: 'Asha Rao' }, { event_time: start + 3 }));
  await open()('receipt');
  expect(
    await database.rows('select name, deleted_at, delivery_id is not null as known from receipts'),
  ).toEqual([{ name: 'Asha Rao', deleted_at: null, known: true }]);
});

const waitsFor = (lock: string) =>
  until(async () => (await database.rows(`select from pg_locks where ${lock} and not granted`)).length > 0);

/** A merge of receipts waits in the middle while `run` runs: its snapshot is taken, and its write is not made. */
async function inTheMiddle(run: () => Promise<unknown>, mergeReceipts = () => open()('receipt')) {
  await database.rows(`
    create function slow() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(1); return new; end $$;
    create trigger slow before insert on receipts for each row execute function slow()`);
  let merging: Promise<MergeResult> | undefined;
  await whileLocked('select pg_advisory_xact_lock(1)', async () => {
    merging = mergeReceipts();
    await waitsFor(`locktype = 'advisory'`);
    await run();
  });
  return merging!;
}

it('a callback that is committed during a merge stays pending, and a second merge waits for the first', async () => {
  await store(receipt(1, { name: 'first' }));
  let later: Promise<MergeResult> | undefined;
  const merged = await inTheMiddle(async () => {
    await store(receipt(1, { name: 'second' }, { event_time: start + 1 }));
    later = open()('receipt');
    await waitsFor(`relation = 'receiver.merge_lock'::regclass`);
  });
  expect([merged, await later]).toMatchObject([{ merged: 1 }, { merged: 1 }]);
  expect(await pending()).toEqual([]);
  expect(await receipts()).toMatchObject([{ name: 'second' }]);
});

it('a record at fault fails alone among many, and a later merge that reads it clears it', async () => {
  await database.rows('alter table receipts add constraint positive check (net_amount > 0)');
  await store(...Array.from({ length: 200 }, (_, n) => receipt(n, { net_amount: n === 117 ? -1 : 1 })));
  expect(await open()('receipt')).toMatchObject({ merged: 199, failed: 1 });
  expect(await pending()).toMatchObject([{ failed: true, error: expect.stringContaining('positive') }]);
  expect(await open()('receipt')).toMatchObject({ merged: 0, failed: 0 });
  await store(receipt(117, { net_amount: 5 }, { event_time: start + 1 }));
  expect(await open()('receipt')).toMatchObject({ merged: 2 });
  expect(await pending()).toEqual([]);
});

it('a row that another session locks waits with its reason, and others go on', async () => {
  await store(receipt(1), receipt(2));
  await open()('receipt');
  await store(receipt(1, { name: 'x' }), receipt(2, { name: 'x' }), receipt(3, { name: 'x' }));
  await whileLocked('select from receipts where receipt_id = 2 for update', async () => {
    expect(await open()('receipt')).toMatchObject({ merged: 2, waiting: 1 });
  });
  expect(await pending()).toMatchObject([{ failed: false, error: expect.stringContaining('locked') }]);
  await database.rows('update receiver.pending_deliveries set next_at = now()');
  await open()('receipt');
  expect(await receipts()).toMatchObject([1, 2, 3].map((id) => ({ id, name: 'x' })));
});

it('a locked table, or one that lacks a column, waits alone with its reason, and is merged afterwards', async () => {
  await store(receipt(1, { name: 'x' }), form('m'));
  await whileLocked('lock table receipts in access exclusive mode', async () => {
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
  await store(receipt(1));
  const other = createMerge({ pool: database.pool, families: families.slice(0, -1), log });
  expect(await other('receipt')).toMatchObject({ outcome: 'foreign', merged: 0 });
  expect(await pending()).toMatchObject([{ error: null }]);
  expect(await receipts()).toEqual([]);
});

it('a second merge writes nothing and records no change', async () => {
  await store(receipt(1, { name: 'x', created_at: '', further: { a: 1 } }), receipt(1, { net_amount: 5 }));
  await open()('receipt');
  const all = () => database.rows('select xmin::text, r::text from receipts r');
  const [before, told] = [await all(), await database.rows('select * from receiver.changes')];
  expect(told).toMatchObject([{ family: 'receipt', record_id: '1', kind: 'changed' }]);
  expect(await open()('receipt', { records: [{ businessId: 'b', recordId: '1' }] })).toMatchObject({
    written: 0,
  });
  expect(await all()).toEqual(before);
  expect(await database.rows('select * from receiver.changes')).toEqual(told);
});

const told = () => database.rows('select record_id as id, kind from receiver.changes order by position');

it('a record without callbacks loses its row, and the change is recorded', async () => {
  await store(receipt(1));
  await open()('receipt');
  await database.rows('delete from receiver.inbox; delete from receiver.changes');
  const records = [{ businessId: 'b', recordId: '1' }];
  expect(await open()('receipt', { records, recordsChanges: false })).toMatchObject({ deleted: 1 });
  expect(await told()).toEqual([{ id: '1', kind: 'erased' }]);
  expect(await receipts()).toEqual([]);
});

it('a merge that records no corrections records rows that come', async () => {
  await store(receipt(1, { name: 'x' }), receipt(2));
  await open()('receipt');
  await database.rows(`delete from receiver.changes; update receipts set name = 'y' where receipt_id = 1;
    delete from receipts where receipt_id = 2`);
  const records = ['1', '2'].map((recordId) => ({ businessId: 'b', recordId }));
  expect(await open()('receipt', { records, recordsChanges: false })).toMatchObject({ written: 2 });
  expect(await told()).toEqual([{ id: '2', kind: 'changed' }]);
});

it('a large record whose merges take long is merged alone, after pauses, and others go on', async () => {
  const merge = open({ slowMs: 0 });
  await store(receipt(1, { further: 'x'.repeat(2_000_000) }), receipt(2));
  expect(await merge('receipt')).toMatchObject({ merged: 2 });
  await store(receipt(1, { name: 'x' }, { event_time: start + 1 }), receipt(2, { name: 'x' }));
  expect(await merge('receipt')).toMatchObject({ merged: 1, waiting: 1 });
  expect(await receipts()).toMatchObject([{ name: null }, { name: 'x' }]);
  // Those that come during the pause wait with it.
  await store(receipt(1, { name: 'y' }, { event_time: start + 2 }));
  expect(await merge('receipt')).toMatchObject({ merged: 0, waiting: 1 });
  await until(async () => (await merge('receipt')).merged === 2);
  expect(await receipts()).toMatchObject([{ name: 'y' }, { name: 'x' }]);
});

it('a large record that is refused keeps no other large one waiting', async () => {
  const merge = open({ slowMs: 0 });
  const further = 'x'.repeat(1_100_000);
  await store(receipt(1, { further }), receipt(2, { further }));
  await merge('receipt');
  await database.rows('alter table receipts add constraint positive check (net_amount > 0)');
  await store(receipt(1, { net_amount: -1 }, { event_time: start + 1 }));
  await until(async () => (await merge('receipt')).failed === 1);
  await store(receipt(2, { name: 'y' }, { event_time: start + 1 }));
  await until(async () => (await merge('receipt')).merged === 1);
  expect((await receipts())[1]).toMatchObject({ name: 'y' });
});

it('deliveries that a clock that was ahead has put off are due', async () => {
  await store(receipt(1), receipt(2));
  await database.rows(`update receiver.pending_deliveries set next_at = now() + interval '1 hour'`);
  expect(await open()('receipt')).toMatchObject({ merged: 2 });
});

it('while sessions are ended and rows locked, no row is wrong and nothing stays', async () => {
  const seed = Number(process.env.TEST_SEED ?? 1);
  expect(await race(database, 8, seed)).toMatchObject({ wrong: [], deadlocks: 0 });
});

it('an amount has the digits of its newest callback, whenever it is merged', async () => {
  // The newest one, which has none, is the row's delivery before and after.
  await store(receipt(1, { net_amount: '12.5' }), receipt(1, { name: 'x' }, { event_time: start + 2 }));
  await open()('receipt');
  await store(receipt(1, { net_amount: '12.50' }, { event_time: start + 1 }));
  await open()('receipt');
  expect(await database.rows('select net_amount::text from receipts')).toEqual([{ net_amount: '12.50' }]);
  // Nothing that a reader would see is another value.
  expect(await told()).toEqual([{ id: '1', kind: 'changed' }]);
});

it('a delivery that has failed stays failed while its table waits for other reasons', async () => {
  await database.rows('alter table receipts add constraint positive check (net_amount > 0)');
  await store(receipt(1, { net_amount: -1 }));
  await open()('receipt');
  await store(receipt(1, { name: 'x' }, { event_time: start + 1 }));
  await whileLocked('lock table receipts in access exclusive mode', async () => {
    await open()('receipt');
  });
  expect((await pending()).map(({ failed }) => failed).sort()).toEqual([false, true]);
});

it('a merge that has no time left names what it leaves, which waits', async () => {
  await store(...Array.from({ length: 8 }, (_, n) => receipt(n)));
  await database.rows(`
    create function never() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return new; end $$;
    create trigger never before insert on receipts for each row execute function never()`);
  const merge = open({ maxDeliveries: 8, statementMs: 500, runMs: 700 });
  const { left } = await merge('receipt');
  expect({ left: left.length, waiting: (await pending()).length }).toEqual({ left: 8, waiting: 8 });
});

it('merges do not shrink to nothing where another worker was faster', async () => {
  await store(receipt(1));
  let isFirst = true;
  const pool = new Proxy(database.pool, {
    get: (target, key) => {
      if (key === 'query' && isFirst)
        return async (...args: unknown[]) => {
          isFirst = false;
          // Another worker was faster.
          await target.query('drop trigger never on receipts');
          await open()('receipt');
          return (target.query as (...all: unknown[]) => unknown)(...args);
        };
      const value = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  await database.rows(`
    create function never() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return new; end $$;
    create trigger never before insert on receipts for each row execute function never()`);
  const merge = createMerge({ pool, families, log, limits: { statementMs: 300, runMs: 100 } });
  await merge('receipt');
  await store(receipt(2));
  expect(await merge('receipt')).toMatchObject({ merged: 1 });
});

it('a copy that arrived earlier and is stored during a merge of the other one is merged by the next', async () => {
  const callback = { event: 'receipt.updated', event_time: start, business_id: 'b', data: { receipt_id: 1 } };
  const now = Date.now() * 1000;
  await store(deliveryOf({ ...callback, timestamp: start + 9 }, now));
  const merged = await inTheMiddle(() =>
    store(deliveryOf({ ...callback, timestamp: start + 1 }, now - 1_000_000)),
  );
  expect(merged).toMatchObject({ merged: 0, written: 1 });
  expect(await pending()).toMatchObject([{ failed: false, error: null }]);
  expect(await open()('receipt')).toMatchObject({ merged: 1 });
});

it('a merge deletes the pending rows of exactly the callbacks that it has read, due or not', async () => {
  const [one, two, other] = [receipt(1), receipt(1, { name: 'x' }), receipt(2)];
  await store(one, two, other);
  await database.rows(`update receiver.pending_deliveries set next_at = 'infinity' where id <> $1`, [one.id]);
  const { merged } = await open()('receipt', { ids: [one.id] });
  expect(merged).toBe(2);
  expect(await pending()).toMatchObject([{ id: other.id, failed: true }]);
});

it('a merge takes the named deliveries with others, up to its limit, and says whether more are due', async () => {
  const deliveries = Array.from({ length: 12 }, (_, n) => receipt(n));
  await store(...deliveries);
  const merge = open({ maxDeliveries: 8 });
  const last = deliveries.slice(-2).map(({ id }) => id);
  const { merged, isFull } = await merge('receipt', { ids: last });
  // Those given may be among the first that are due.
  expect([6, 7, 8]).toContain(merged);
  expect(isFull).toBe(true);
  const left = (await pending()).map(({ id }) => id);
  expect(left.filter((id) => last.includes(id as string))).toEqual([]);
  expect(await merge('receipt')).toMatchObject({ merged: 12 - merged, isFull: false });
});

it('a record for which a foreign trigger raises an error waits alone with its reason', async () => {
  await database.rows(`
    create function refuse() returns trigger language plpgsql as $$
      begin if new.receipt_id = 7 then raise exception 'not this one'; end if; return new; end $$;
    create trigger refuse before insert on receipts for each row execute function refuse()`);
  await store(...Array.from({ length: 70 }, (_, n) => receipt(n)));
  expect(await open()('receipt')).toMatchObject({ merged: 69, waiting: 1, failed: 0, outcome: 'done' });
  expect(await pending()).toMatchObject([{ failed: false, error: expect.stringContaining('P0001') }]);
});

it('the reason of a record that failed has none of its values', async () => {
  await database.rows(`alter table receipts add constraint known check (name <> 'Asha Rao')`);
  await store(receipt(1, { name: 'Asha Rao' }));
  await open()('receipt');
  expect(JSON.stringify(await pending())).not.toContain('Asha');
});

it('a row that another session inserts meanwhile puts off its record alone', async () => {
  await store(receipt(1), receipt(2));
  const statement = `insert into receipts (business_id, receipt_id, client_id, last_event, event_time, delivery_id)
    values ('b', 1, '', '', now(), gen_random_uuid())`;
  const merge = open({ lockMs: 100 });
  await whileLocked(statement, async () => {
    expect(await merge('receipt')).toMatchObject({ merged: 1, waiting: 1, failed: 0 });
  });
  expect(await pending()).toMatchObject([{ failed: false, error: expect.stringContaining('55P03') }]);
});

it('a merge that others keep from merging leaves everything as it was', async () => {
  await store(receipt(1));
  const merge = open({ mergeLockMs: 100 });
  await whileLocked('lock table receiver.merge_lock in exclusive mode', async () => {
    expect(await merge('receipt')).toMatchObject({ outcome: 'busy', merged: 0 });
  });
  expect(await pending()).toMatchObject([{ error: null }]);
});

it('a pending row whose callback was deleted by hand goes, and nothing waits behind it', async () => {
  await store(receipt(1), receipt(2));
  await database.rows(`delete from receiver.inbox where record_id = '1'`);
  expect(await open()('receipt')).toMatchObject({ merged: 2, written: 1 });
  expect(await pending()).toEqual([]);
});

it('requested records that others lock are returned with the reason', async () => {
  await store(receipt(1), receipt(2));
  await open()('receipt');
  await database.rows(`update receipts set name = 'by hand'`);
  const records = ['2', '1', '2'].map((recordId) => ({ businessId: 'b', recordId }));
  await whileLocked('select from receipts where receipt_id = 2 for update', async () => {
    const { written, left } = await open()('receipt', { records });
    const reason = 'its row is locked by another session';
    expect({ written, left }).toEqual({ written: 1, left: [{ businessId: 'b', recordId: '2', reason }] });
  });
});

it('changes are recorded in the order of the merges, with their kinds', async () => {
  await store(receipt(1), receipt(2));
  await open()('receipt');
  await store(receipt(2, {}, { event: 'receipt.deleted', event_time: start + 1 }));
  await open()('receipt');
  await store(receipt(1, { name: 'x' }, { event_time: start + 1 }));
  await open()('receipt');
  const told = await database.rows('select record_id, kind from receiver.changes order by position');
  expect(told.slice(2)).toEqual([
    { record_id: '2', kind: 'deleted' },
    { record_id: '1', kind: 'changed' },
  ]);
});

it('a column that was added by hand is left alone, and no reason to write', async () => {
  await store(receipt(1, { name: 'x' }));
  await open()('receipt');
  await database.rows(`alter table receipts add column note text; update receipts set note = 'mine'`);
  const records = [{ businessId: 'b', recordId: '1' }];
  expect(await open()('receipt', { records })).toMatchObject({ written: 0 });
  await store(receipt(1, { name: 'y' }, { event_time: start + 1 }));
  await open()('receipt');
  expect(await database.rows('select name, note from receipts')).toEqual([{ name: 'y', note: 'mine' }]);
});

it('a merge whose session is ended throws, and everything waits as it did', async () => {
  await store(receipt(1));
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
  await store(receipt(1));
  let child: ChildProcess | undefined;
  try {
    await inTheMiddle(
      async () => void child!.kill('SIGSTOP'),
      () => {
        const program = join(import.meta.dirname, 'merge-process.ts');
        child = spawn(process.execPath, ['--import', 'tsx', program, database.url], { stdio: 'ignore' });
        return Promise.resolve(undefined as unknown as MergeResult);
      },
    );
    const merge = open({});
    await until(async () => (await merge('receipt')).merged === 1);
    expect(await receipts()).toMatchObject([{ id: 1 }]);
  } finally {
    child?.kill('SIGKILL');
  }
});
