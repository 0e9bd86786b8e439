import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { createLog } from '../../../src/common/log.ts';
import { families } from '../../../src/receiver/families/index.ts';
import type { Delivery } from '../../../src/receiver/intake/delivery.ts';
import { insertDeliveries } from '../../../src/receiver/intake/insert.ts';
import { fingerprintOf } from '../../../src/receiver/store/migrate.ts';
import { openPool } from '../../../src/receiver/store/pools.ts';
import { createMerge } from '../../../src/receiver/worker/merge.ts';
import { until } from '../../support/until.ts';
import { useReceiverDatabase } from '../support/database.ts';
import { deliveryOf } from '../support/intake.ts';

const database = useReceiverDatabase('test');
const log = createLog('silent');
const fingerprint = fingerprintOf(families);
const open = (pool: pg.Pool = database.pool) =>
  createMerge({ pool, families, fingerprint, log, limits: { statementMs: 30_000, mergeLockMs: 30_000 } });
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

it('of two callbacks with equal times the one with the later timestamp wins, however they arrive', async () => {
  const later = deliveryOf({
    event: 'mcert.updated',
    event_time: start,
    timestamp: start + 2,
    business_id: 'b',
    data: { id: 'm', url: 'new' },
  });
  const older = deliveryOf({
    event: 'mcert.updated',
    event_time: start,
    timestamp: start + 1,
    business_id: 'b',
    data: { id: 'm', url: 'old' },
  });
  for (const one of [later, older]) {
    await store(one);
    await open()('consent_form');
  }
  expect(await database.rows('select url from consent_forms')).toEqual([{ url: 'new' }]);
});

it('a callback that is committed while a merge runs keeps its pending row, and a second merge waits for the first', async () => {
  await store(receipt(1, { name: 'first' }));
  const second = receipt(1, { name: 'second' }, { event_time: start + 1 });
  // The merge waits in the middle: its snapshot is taken, and its write is not made.
  await database.rows(`
    create function slow() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(1); return new; end $$;
    create trigger slow before insert on receipts for each row execute function slow()`);
  const waitsFor = (lock: string) =>
    until(async () => (await database.rows(`select from pg_locks where ${lock} and not granted`)).length > 0);
  let merging: Promise<unknown> | undefined;
  let later: Promise<unknown> | undefined;
  await whileLocked('select pg_advisory_xact_lock(1)', async () => {
    merging = open()('receipt');
    await waitsFor(`locktype = 'advisory'`);
    await store(second);
    later = open()('receipt');
    await waitsFor(`relation = 'receiver.merge_lock'::regclass`);
  });
  expect(await merging).toMatchObject({ merged: 1 });
  expect(await later).toMatchObject({ merged: 1 });
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

it('a row that somebody locks waits, and is named, and others go on', async () => {
  await store(receipt(1), receipt(2));
  await open()('receipt');
  await store(receipt(1, { name: 'x' }), receipt(2, { name: 'x' }), receipt(3, { name: 'x' }));
  await whileLocked('select from receipts where receipt_id = 2 for update', async () => {
    expect(await open()('receipt')).toMatchObject({ merged: 2, waiting: 1, left: [{ recordId: '2' }] });
  });
  expect(await pending()).toMatchObject([{ failed: false, error: expect.stringContaining('locked') }]);
  await database.rows('update receiver.pending_deliveries set next_at = now()');
  await open()('receipt');
  expect(await receipts()).toMatchObject([1, 2, 3].map((id) => ({ id, name: 'x' })));
});

it('a table that somebody locks, or whose column somebody drops, waits alone with its reason, and comes by itself', async () => {
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
  const other = createMerge({ pool: database.pool, families, fingerprint: 'another', log });
  expect(await other('receipt')).toMatchObject({ outcome: 'foreign', merged: 0 });
  expect(await pending()).toMatchObject([{ error: null }]);
  expect(await receipts()).toEqual([]);
});

it('a merge of what is merged writes nothing and tells nothing', async () => {
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

it('a record without callbacks loses its row, and the feed is told, unless it must not be', async () => {
  await store(receipt(1), receipt(2));
  await open()('receipt');
  await database.rows('delete from receiver.inbox; delete from receiver.changes');
  const record = (recordId: string) => ({ records: [{ businessId: 'b', recordId }] });
  expect(await open()('receipt', { ...record('1'), kind: 'erased' })).toMatchObject({ deleted: 1 });
  expect(await open()('receipt', { ...record('2'), tellsFeed: false })).toMatchObject({ deleted: 1 });
  expect(await database.rows('select record_id, kind from receiver.changes')).toEqual([
    { record_id: '1', kind: 'erased' },
  ]);
  expect(await receipts()).toEqual([]);
});

it('equal ids of two businesses never touch', async () => {
  await store(receipt(1, { name: 'one' }), receipt(1, { name: 'two' }, { business_id: 'c' }));
  await open()('receipt');
  expect(await database.rows('select business_id, name from receipts order by 1')).toEqual([
    { business_id: 'b', name: 'one' },
    { business_id: 'c', name: 'two' },
  ]);
});

it('while sessions are ended, rows locked and three merge at once, no row is wrong and nothing stays', async () => {
  const pool = openPool(database.url, log, { name: 'race', connections: 12, connectTimeoutMs: 60_000 });
  let state = Number(process.env.TEST_SEED ?? 1);
  const random = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  const isOver = { value: false };
  const retry = async <T>(call: () => Promise<T>): Promise<T> => {
    for (;;)
      try {
        return await call();
      } catch (error) {
        if (error instanceof pg.DatabaseError && !/^(57P|08|25P)/.test(error.code ?? '')) throw error;
      }
  };
  const pages = new Map<number, Record<string, unknown>>();
  const deliveries = Array.from({ length: 600 }, (_, n) => {
    const id = Math.floor(random() * 60);
    const data = Object.fromEntries(
      ['name', 'mobile', 'net_amount'].flatMap((key) =>
        random() < 0.4 ? [[key, random() < 0.1 ? null : key === 'net_amount' ? n : `${key} ${n}`]] : [],
      ),
    );
    pages.set(id, { ...pages.get(id), ...data });
    return receipt(id, data, { event_time: start + n });
  }).sort(() => random() - 0.5);
  const insert = async () => {
    for (let batch = deliveries.splice(0, 4); batch.length > 0; batch = deliveries.splice(0, 4))
      await retry(() => insertDeliveries(pool, batch, 60_000));
  };
  const mergeUntilOver = async () => {
    const merge = open(pool);
    while (!isOver.value) {
      const { merged } = await retry(() => merge('receipt'));
      if (merged === 0) await pause(5);
    }
  };
  const disturb = async () => {
    while (!isOver.value) {
      await pause(30 + random() * 100);
      await database.rows(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'race' order by random() limit 1`,
      );
    }
  };
  const hold = async () => {
    while (!isOver.value) {
      await whileLocked('select from receipts order by random() limit 2 for update', () =>
        pause(random() * 50),
      );
      await pause(random() * 50);
    }
  };
  const merging = Promise.all([mergeUntilOver(), mergeUntilOver(), mergeUntilOver()]);
  const disturbing = Promise.all([disturb(), hold()]);
  await Promise.all([insert(), insert(), insert(), insert()]);
  await until(async () => (await pending()).length === 0);
  isOver.value = true;
  await Promise.all([merging, disturbing]);
  const rows = await database.rows(
    'select receipt_id::int as id, name, mobile, net_amount::float as net_amount from receipts',
  );
  const shown = Object.fromEntries(rows.map(({ id, ...row }) => [id, row]));
  const empty = { name: null, mobile: null, net_amount: null };
  expect(shown).toEqual(Object.fromEntries([...pages].map(([id, page]) => [id, { ...empty, ...page }])));
  await pool.end();
});
