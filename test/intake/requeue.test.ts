import { applyDeliveries } from '../../src/apply/apply.ts';
import { families } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { requeue } from '../../src/intake/requeue.ts';
import { deliveryOf, receiptCallback, samples } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { apply, clear, erasureTables, everyRow, insertCallbacks } from '../support/deliveries.ts';

const database = useDatabase();
beforeEach(() => clear(database, ...erasureTables, 'erasing', 'lost_deliveries'));

const count = async (from: string) => Number((await database.rows(`select count(*) from ${from}`))[0]!.count);
const receipts = (number: number, first = 1) =>
  Array.from({ length: number }, (_, index) =>
    receiptCallback({ event_time: 1_700_000_000 + index, data: { receipt_id: first + index } }),
  );
const insert = (callbacks: object[]) =>
  insertDeliveries(
    database.pool,
    callbacks.map((callback) => deliveryOf(callback as ReturnType<typeof receiptCallback>)),
  );

it('a resend of a delivery that lost its state is accepted, and applied', async () => {
  const callbacks = receipts(20);
  const ids = await insertCallbacks(database, callbacks);
  await database.rows('truncate pending_deliveries');
  expect(await insert(callbacks)).toEqual(ids.map(() => 'accepted'));
  expect(await count('pending_deliveries')).toBe(20);
  expect(await applyDeliveries(database.db, families, ids)).toMatchObject({ applied: 20, changed: 20 });
  expect(await insert(callbacks)).toEqual(ids.map(() => 'duplicate'));
});

it('of two copies of such a resend in one commit, the second is a duplicate', async () => {
  const [callback] = receipts(1);
  await insertCallbacks(database, [callback!]);
  await database.rows('delete from pending_deliveries');
  expect(await insert([callback!, callback!])).toEqual(['accepted', 'duplicate']);
});

it('the view shows a delivery without a state as received, and deletes it', async () => {
  const [id] = await apply(database, receipts(1));
  await database.rows('delete from applied_deliveries');
  const shown = 'select id, status, family, event, delivery_count, applied_at from deliveries where id = $1';
  expect(await database.rows(shown, [id])).toEqual([
    {
      id,
      status: 'received',
      family: 'receipt',
      event: 'receipt.created',
      delivery_count: 1,
      applied_at: null,
    },
  ]);
  expect(await database.rows('select 1 from stated_deliveries')).toEqual([]);
  await database.rows('delete from deliveries where id = $1', [id]);
  expect(await count('inbox')).toBe(0);
});

it('what was applied is applied again without changing a row or adding a version, and keeps its time', async () => {
  const { appointment, consent_form } = samples;
  const callbacks = [
    ...[0, 1, 2].map((index) => receiptCallback({ event_time: 1_700_000_000 + index })),
    ...[0, 1].map((index) => appointment({ event_time: 1_700_000_000 + index })),
    consent_form(),
  ];
  const ids = await apply(database, callbacks);
  await database.rows(`update receipts set applied_at = now() - interval '3 days'`);
  const times = () =>
    database.rows(
      'select delivery_id, applied_at from receipts union all select delivery_id, applied_at from receipt_versions order by 1',
    );
  const before = [
    await everyRow(database),
    await times(),
    await database.rows('select * from appointment_versions'),
  ];
  await database.rows('truncate applied_deliveries');
  const { pending } = await requeue(database.db, families, ids);
  expect(pending.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  expect(await applyDeliveries(database.db, families, ids)).toMatchObject({ applied: 6, changed: 0 });
  expect([
    await everyRow(database),
    await times(),
    await database.rows('select * from appointment_versions'),
  ]).toEqual(before);
  const [newest] = await database.rows(
    `select a.applied_at = r.applied_at as same from applied_deliveries a join receipts r on r.delivery_id = a.id`,
  );
  expect(newest).toEqual({ same: true });
});

it('leaves those alone that have a state, are being erased, are locked, or are not there', async () => {
  const ids = await insertCallbacks(database, receipts(4));
  await database.rows('delete from pending_deliveries where id <> $1', [ids[0]]);
  await database.rows(
    `insert into erasing (id, erasure_id, family, thing_family, business_id) values ($1, gen_random_uuid(), 'receipt', 'receipt', 'b')`,
    [ids[1]],
  );
  const session = await database.pool.connect();
  try {
    await session.query('begin');
    await session.query('select from inbox where id = $1 for update', [ids[2]]);
    const { pending, refused } = await requeue(database.db, families, [
      ...ids,
      '00000000-0000-8000-8000-000000000000',
    ]);
    expect([pending, refused]).toEqual([[{ id: ids[3], family: 'receipt' }], []]);
  } finally {
    session.release(true);
  }
});

it('what is about something that was erased does not become pending', async () => {
  const [erased, later] = await insertCallbacks(database, [
    receiptCallback({ event_time: 1_700_000_000 }),
    receiptCallback({ event_time: 1_700_000_500 }),
  ]);
  await database.rows('delete from pending_deliveries');
  await database.rows(
    `insert into erasures (id, erased_by, counts) values ('00000000-0000-4000-8000-000000000000', 'a', '{}')`,
  );
  await database.rows(
    `insert into erased select patient_hash(salt, '', $1), to_timestamp(1700000100), '00000000-0000-4000-8000-000000000000' from erasure_salt`,
    [receiptCallback().data.patient_oid],
  );
  const ids = [erased!, later!];
  expect(await requeue(database.db, families, ids)).toMatchObject({
    pending: [{ id: later }],
    refused: [erased],
  });
});

it('a delivery with several states gets one', async () => {
  const ids = await apply(database, receipts(3));
  await database.rows(
    `insert into pending_deliveries select id, family, received_at from applied_deliveries where id = $1`,
    [ids[0]],
  );
  await database.rows(
    `insert into failed_deliveries select id, family, received_at, '' from applied_deliveries where id = $1`,
    [ids[1]],
  );
  await requeue(database.db, families, ids);
  await applyDeliveries(database.db, families, ids);
  expect(await database.rows('select status, count(*)::int from deliveries group by 1')).toEqual([
    { status: 'applied', count: 3 },
  ]);
});

it('one whose id cannot be read is pending again, and fails', async () => {
  const [id] = await insertCallbacks(database, receipts(1));
  await database.rows(`update inbox set envelope = jsonb_set(envelope, '{data,receipt_id}', '"x"')`);
  await database.rows('delete from pending_deliveries');
  expect(await requeue(database.db, families, [id!])).toMatchObject({ pending: [{ id }] });
  expect(await applyDeliveries(database.db, families, [id!])).toMatchObject({ failed: [{ id }] });
  await database.rows('delete from failed_deliveries; delete from inbox');
});

it('a trigger that drops the rows is noticed', async () => {
  const [callback] = receipts(1);
  await insertCallbacks(database, [callback!]);
  await database.rows(`
    delete from pending_deliveries;
    create function drop_row() returns trigger language plpgsql as 'begin return null; end';
    create trigger drop_row before insert on pending_deliveries for each row execute function drop_row()`);
  try {
    await expect(insert([callback!])).rejects.toThrow();
  } finally {
    await database.rows('drop function drop_row cascade');
  }
});

it('the view finds a delivery by its id by indexes, and an applied one without reading inbox', async () => {
  await database.rows(`
    with made as (
      select gen_random_uuid() as id, n from generate_series(1, 20000) n
    ), stored as (
      insert into inbox (id, event, family, client_id, business_id, event_time, envelope)
      select id, 'receipt.created', 'receipt', '', '', now(), '{}' from made
    )
    insert into applied_deliveries (id, family, business_id, event_time, received_at, applied_at)
    select id, 'receipt', '', now(), now(), now() from made`);
  await database.rows('analyze inbox; analyze applied_deliveries');
  const planOf = async (condition: string) =>
    (await database.rows(`explain (costs off) select * from deliveries where ${condition}`))
      .map((row) => row['QUERY PLAN'])
      .join('\n');
  const some = `array(select id from inbox limit 3)`;
  for (const condition of [`id = '018bcfe5-6800-8000-8000-000000000001'`, `id = any(${some})`]) {
    const plan = await planOf(condition);
    expect(plan).not.toMatch(/Seq Scan on (inbox i|applied)/);
  }
  expect(await planOf(`status = 'failed'`)).not.toContain('Anti');
  expect(await planOf(`status = 'applied'`)).not.toContain('Anti');
});
