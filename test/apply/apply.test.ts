import fc from 'fast-check';
import type pg from 'pg';
import { z } from 'zod';
import { applyDeliveries } from '../../src/apply/apply.ts';
import { amount, text } from '../../src/families/field.ts';
import { defineFamily, envelopeSchema, families, knownGood } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { knownGoodDelivery } from '../../src/intake/probe-inbox.ts';
import { newestVersions, versionsInTables } from '../chaos/model.ts';
import {
  consentFormCallback,
  consentFormData,
  deliveryOf,
  history,
  receiptCallback,
  receiptData,
  reviewRequestCallback,
  reviewRequestData,
  samples,
} from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { clear, insertCallbacks } from '../support/deliveries.ts';

const database = useDatabase();
beforeEach(() => clear(database));

const tables = ['receipts', 'consent_forms', 'review_requests'];

const insert = (callbacks: object[]) => insertCallbacks(database, callbacks);

/** Without the times of receipt and of application, which differ. */
async function contents() {
  const rows = await Promise.all(
    tables.map((table) => database.rows(`select * from ${table} t order by delivery_id`)),
  );
  return rows.flat().map(({ received_at, applied_at, ...row }) => row);
}

it('deliveries in any order, with any duplicates, in any batches, result in the same rows: the newest versions', async () => {
  const shuffledWithDuplicates = history.chain((callbacks) =>
    fc.record({
      callbacks: fc.constant(callbacks),
      arrivals: fc.array(fc.nat(callbacks.length - 1), { maxLength: 10 }).chain((again) =>
        fc.shuffledSubarray([...callbacks.keys(), ...again], {
          minLength: callbacks.length + again.length,
        }),
      ),
      commit: fc.integer({ min: 1, max: 9 }),
      job: fc.integer({ min: 1, max: 9 }),
    }),
  );
  await fc.assert(
    fc.asyncProperty(shuffledWithDuplicates, async ({ callbacks, arrivals, commit, job }) => {
      await clear(database);
      for (const callback of callbacks) {
        await applyDeliveries(database.db, families, await insert([callback as never]));
      }
      const expected = await contents();
      const newest = (await database.rows(versionsInTables)).map(({ key, id }) => [key, id]);
      expect(Object.fromEntries(newest)).toEqual(
        Object.fromEntries(newestVersions(callbacks.map((envelope) => ({ envelope: envelope as never })))),
      );

      await clear(database);
      const ids: string[] = [];
      for (let at = 0; at < arrivals.length; at += commit) {
        ids.push(
          ...(await insert(arrivals.slice(at, at + commit).map((index) => callbacks[index] as never))),
        );
      }
      for (let at = 0; at < ids.length; at += job) {
        await applyDeliveries(database.db, families, ids.slice(at, at + job));
      }
      expect(await contents()).toEqual(expected);
      expect(await database.rows(`select 1 from deliveries where status <> 'applied'`)).toEqual([]);
    }),
    { numRuns: 10 },
  );
});

it('the newest version of a receipt wins: by event time, then update time, then lifecycle', async () => {
  const newest = receiptCallback({
    event: 'receipt.updated',
    event_time: 1_700_000_002,
    data: { actor: 'last' },
  });
  const earlier = [
    receiptCallback({ event: 'receipt.deleted', event_time: 1_700_000_001, data: { actor: 'deleted' } }),
    receiptCallback({ event_time: 1_700_000_002, data: { actor: 'created' } }),
    receiptCallback({
      event: 'receipt.deleted',
      event_time: 1_700_000_002,
      data: { actor: 'older', updated_at: 1_600_000_000 },
    }),
  ];
  const ids = await insert([newest, ...earlier]);
  for (const id of ids) await applyDeliveries(database.db, families, [id]);
  expect(await database.rows('select actor, last_event, deleted_at, delivery_id from receipts')).toEqual([
    { actor: 'last', last_event: 'receipt.updated', deleted_at: null, delivery_id: ids[0] },
  ]);
});

it.each([undefined, null])(
  'a deletion whose updated_at is %s is the last of its second, in any order',
  async (updated_at) => {
    const at = 1_700_000_002;
    const callbacks = [
      receiptCallback({ event_time: at, data: { updated_at: at * 1000 } }),
      receiptCallback({ event: 'receipt.updated', event_time: at, data: { updated_at: at * 1000 + 999 } }),
      receiptCallback({ event: 'receipt.deleted', event_time: at, data: { updated_at: at * 1000 } }),
      receiptCallback({ event: 'receipt.deleted', event_time: at, data: { updated_at } }),
      receiptCallback({ event: 'receipt.updated', event_time: at, data: { updated_at } }),
    ];
    const { id } = deliveryOf(callbacks[3]!);
    for (const order of [callbacks, callbacks.toReversed()]) {
      await clear(database);
      for (const one of order) await applyDeliveries(database.db, families, await insert([one]));
      expect(await database.rows('select delivery_id, deleted_at from receipts')).toEqual([
        { delivery_id: id, deleted_at: new Date(at * 1000) },
      ]);
    }
    // An event of the next second is newer nevertheless.
    const back = receiptCallback({ event: 'receipt.updated', event_time: at + 1, data: { updated_at } });
    await applyDeliveries(database.db, families, await insert([back]));
    expect(await database.rows('select deleted_at from receipts')).toEqual([{ deleted_at: null }]);
  },
);

it('of two versions of a consent form in one second the same one wins, whichever is resent later', async () => {
  const [one, other] = ['u1', 'u2'].map((url) =>
    consentFormCallback({ event: 'mcert.updated', data: { url } }),
  );
  const resent = [one, other].map((callback) => ({ ...callback!, timestamp: callback!.timestamp + 60 }));
  const arrivals = fc.shuffledSubarray([one!, other!, ...resent], { minLength: 4 });
  const newest = [one!, other!].map((callback) => deliveryOf(callback as never).id).toSorted()[1];
  await fc.assert(
    fc.asyncProperty(arrivals, async (callbacks) => {
      await clear(database);
      for (const callback of callbacks)
        await applyDeliveries(database.db, families, await insert([callback as never]));
      expect(await database.rows('select delivery_id from consent_forms')).toEqual([{ delivery_id: newest }]);
    }),
    { numRuns: 6 },
  );
});

it('a deleted receipt keeps its row with deleted_at, and a later version brings it back', async () => {
  const created = receiptCallback();
  const deleted = receiptCallback({ event: 'receipt.deleted', event_time: 1_700_000_100 });
  const back = receiptCallback({ event: 'receipt.updated', event_time: 1_700_000_200 });
  await applyDeliveries(database.db, families, await insert([created, deleted]));
  expect(await database.rows('select deleted_at from receipts')).toEqual([
    { deleted_at: new Date(1_700_000_100_000) },
  ]);
  await applyDeliveries(database.db, families, await insert([back]));
  expect(await database.rows('select deleted_at from receipts')).toEqual([{ deleted_at: null }]);
});

it('each documented field of a receipt is in its column, the others in extra', async () => {
  const [id] = await insert([receiptCallback({ data: { new_field: { deep: [1.5] } } })]);
  await applyDeliveries(database.db, families, [id!]);
  const { receipt_id, created_at, updated_at, archive, ...rest } = receiptData;
  const amounts = Object.entries(rest).filter(([, value]) => typeof value === 'number');
  expect(await database.rows('select * from receipts')).toEqual([
    {
      ...rest,
      ...Object.fromEntries(amounts.map(([name, value]) => [name, String(value)])),
      receipt_id: String(receipt_id),
      archive: String(archive),
      created_at: new Date(created_at),
      updated_at: new Date(updated_at),
      business_id: receiptCallback().business_id,
      client_id: receiptCallback().client_id,
      last_event: 'receipt.created',
      event_time: new Date(1_700_000_000_000),
      deleted_at: null,
      extra: { new_field: { deep: [1.5] } },
      delivery_id: id,
      carried: null,
      first_event_time: null,
      received_at: expect.any(Date),
      applied_at: expect.any(Date),
    },
  ]);
});

it('each documented field of a consent form and of a review request is in its column', async () => {
  const callbacks = [
    consentFormCallback({ event: 'mcert.updated', data: { more: true } }),
    reviewRequestCallback({ data: { more: null } }),
  ];
  const ids = await insert(callbacks as never);
  await applyDeliveries(database.db, families, ids);
  const trailing = {
    business_id: receiptCallback().business_id,
    client_id: receiptCallback().client_id,
    event_time: new Date(1_700_000_000_000),
    deleted_at: null,
  };
  expect(await database.rows('select * from consent_forms')).toEqual([
    {
      ...consentFormData,
      ...trailing,
      last_event: 'mcert.updated',
      extra: { more: true },
      delivery_id: ids[0],
      carried: null,
    },
  ]);
  expect(await database.rows('select * from review_requests')).toEqual([
    {
      ...reviewRequestData,
      ...trailing,
      last_event: 'google_review.request',
      extra: { more: null },
      delivery_id: ids[1],
    },
  ]);
});

it('fields that are null or absent are null in the row', async () => {
  const nulls = Object.fromEntries(Object.keys(receiptData).map((name) => [name, null]));
  const empty = { ...receiptCallback(), data: { receipt_id: 2 } };
  const ids = await insert([receiptCallback({ data: { ...nulls, receipt_id: 1 } }), empty as never]);
  await applyDeliveries(database.db, families, ids);
  const names = Object.keys(receiptData).filter((name) => name !== 'receipt_id');
  const rows = await database.rows(`select num_nulls(${names.join(', ')}) as nulls, extra from receipts`);
  expect(rows).toEqual([
    // Times that say nothing are kept as they came.
    { nulls: names.length, extra: { created_at: null, updated_at: null } },
    { nulls: names.length, extra: {} },
  ]);
});

it('the unit of a time follows from its magnitude, to the millisecond, up to the year 9999', async () => {
  const times = [0, 1_700_000_000, 1_700_000_000_789, 100_000_000_000, 253_402_300_799_999, -62_135_596_800];
  const ids = await insert(
    times.map((date, index) => samples.admission_estimate({ data: { id: String(index), date } })),
  );
  await applyDeliveries(database.db, families, ids);
  const rows = await database.rows(
    'select (extract(epoch from date) * 1000000)::numeric(30) as us from admission_estimates order by id',
  );
  const expected = times.map((time) => BigInt(time) * (time > 1e11 ? 1_000n : 1_000_000n));
  expect(rows.map((row) => BigInt(row.us as string))).toEqual(expected);
});

it('amounts are exact to the last digit', async () => {
  const amounts = [0.1, 0.3, 1e-7, 123456789012.34, 99999999999.99, 1e21];
  const ids = await insert(
    amounts.map((net_amount, index) => receiptCallback({ data: { receipt_id: index, net_amount } })),
  );
  await applyDeliveries(database.db, families, ids);
  const rows = await database.rows('select net_amount from receipts order by receipt_id');
  expect(rows.map((row) => row.net_amount)).toEqual([
    '0.1',
    '0.3',
    '0.0000001',
    '123456789012.34',
    '99999999999.99',
    '1000000000000000000000',
  ]);
});

it('only the delivery with faulty data fails, with a reason that contains none of its values', async () => {
  await database.pool.query('alter table receipts add constraint no_secrets check (name <> $$Secret Name$$)');
  try {
    const good = [1, 2, 3].map((receipt_id) => receiptCallback({ data: { receipt_id } }));
    const bad = receiptCallback({ data: { receipt_id: 9, name: 'Secret Name' } });
    const ids = await insert([...good.slice(0, 2), bad, ...good.slice(2)]);
    const { applied, failed } = await applyDeliveries(database.db, families, ids);
    expect({ applied, failed: failed.map(({ id }) => id) }).toMatchObject({ applied: 3, failed: [ids[2]] });
    const rows = await database.rows(`select id, status, error from deliveries where status <> 'applied'`);
    expect(rows).toEqual([{ id: ids[2], status: 'failed', error: expect.stringContaining('no_secrets') }]);
    expect(rows[0]!.error).not.toContain('Secret');
    expect(await database.rows('select count(*)::int as n from receipts')).toEqual([{ n: 3 }]);
  } finally {
    await database.pool.query('delete from receipts; alter table receipts drop constraint no_secrets');
  }
});

describe('nothing fails by a fault of its table:', () => {
  it.each<[name: string, broken: string, mended: string]>([
    [
      'a column of a DBA that must be set',
      'alter table receipts add dba text not null',
      'alter table receipts drop dba',
    ],
    [
      'a trigger that blames the data',
      `create function blame() returns trigger language plpgsql as
         $$ begin raise exception 'no' using errcode = '22023'; end $$;
       create trigger dba before insert or update on receipts for each row execute function blame()`,
      'drop trigger dba on receipts; drop function blame',
    ],
    ['a missing table', 'alter table receipts rename to dba', 'alter table dba rename to receipts'],
  ])('%s', async (_name, broken, mended) => {
    const receipts = Array.from({ length: 25 }, (_, receipt_id) => receiptCallback({ data: { receipt_id } }));
    const form = consentFormCallback();
    const ids = await insert([...receipts, form]);
    await database.pool.query(broken);
    try {
      for (const some of [ids, ids.slice(0, 1)]) {
        const { failed, broken } = await applyDeliveries(database.db, families, some);
        expect({ failed, broken }).toMatchObject({ failed: [], broken: [{ family: 'receipt' }] });
      }
      const counts = 'select status, count(*)::int as n from deliveries group by 1 order by 1';
      expect(await database.rows(counts)).toEqual([
        { status: 'applied', n: 1 },
        { status: 'received', n: 25 },
      ]);
    } finally {
      await database.pool.query(mended);
    }
    expect(await applyDeliveries(database.db, families, ids)).toMatchObject({
      applied: 25,
      failed: [],
      broken: [],
    });
  });
});

it('a delivery at which a trigger raises fails with its reason, and its family goes on', async () => {
  await database.pool.query(`
    create function raise_once() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
    create trigger dba before insert on receipts for each row when (new.receipt_id = 7) execute function raise_once()`);
  try {
    const receipts = Array.from({ length: 10 }, (_, receipt_id) => receiptCallback({ data: { receipt_id } }));
    const ids = await insert(receipts);
    const { applied, failed, broken } = await applyDeliveries(database.db, families, ids);
    expect({ applied, failed, broken }).toEqual({
      applied: 9,
      failed: [{ id: ids[7], error: 'P0001 no' }],
      broken: [],
    });
    expect(await applyDeliveries(database.db, families, [ids[7]!])).toMatchObject({ applied: 0, broken: [] });
  } finally {
    await database.pool.query('delete from receipts; drop trigger dba on receipts; drop function raise_once');
  }
});

it.each(families.map((family) => [family.name, family] as const))(
  'a known-good delivery of the family %s is valid, and can be applied',
  async (_name, family) => {
    const envelope = knownGood(family, 912_345_678_901_234);
    if (family.events.length > 0) expect(envelopeSchema(families).parse(envelope)).toMatchObject(envelope);
    const delivery = knownGoodDelivery(family);
    await insertDeliveries(database.pool, [delivery]);
    expect(await applyDeliveries(database.db, families, [delivery.id])).toMatchObject({
      applied: 1,
      changed: 1,
    });
  },
);

it('a delivery that another worker has applied meanwhile does not become failed', async () => {
  await database.pool.query('alter table receipts add constraint none_yet check (receipt_id < 0)');
  const [id] = await insert([receiptCallback()]);
  // The other worker finishes between the failed statement and the update to `failed`.
  const statement = jest.spyOn(database.pool, 'query').mockImplementationOnce((async (
    query: pg.QueryConfig,
  ) => {
    try {
      return await database.pool.query(query);
    } catch (error) {
      await database.pool.query('alter table receipts drop constraint none_yet');
      await applyDeliveries(database.db, families, [id!]);
      throw error;
    }
  }) as never);
  const preparedOn = database.pool;
  const { applied, failed } = await applyDeliveries(database.db, [families[0]], [id!], { preparedOn });
  statement.mockRestore();
  expect({ applied, failed }).toEqual({ applied: 0, failed: [] });
  expect(await database.rows('select status, error from deliveries')).toEqual([
    { status: 'applied', error: null },
  ]);
});

it('two workers that apply overlapping jobs at once neither deadlock nor apply anything twice', async () => {
  const callbacks = Array.from({ length: 200 }, (_, index) =>
    receiptCallback({ event_time: 1_700_000_000 + index, data: { receipt_id: index % 10 } }),
  );
  const ids = await insert(callbacks);
  const jobs = [ids, ids.toReversed(), ids.slice(50), ids.slice(0, 150).toReversed()];
  const results = await Promise.all(jobs.map((job) => applyDeliveries(database.db, families, job)));
  expect(results.reduce((sum, { applied }) => sum + applied, 0)).toBe(200);
  expect(await database.rows('select count(*)::int as n from receipts')).toEqual([{ n: 10 }]);
});

it('a new family needs one definition and one table', async () => {
  await database.pool.query(`create table lab_orders (
    business_id text, code text, price numeric, client_id text, last_event text, event_time timestamptz,
    deleted_at timestamptz, extra jsonb, delivery_id uuid, carried jsonb, primary key (business_id, code))`);
  const labOrder = defineFamily({
    name: 'lab_order',
    events: ['lab.ordered', 'lab.cancelled'],
    deletedBy: 'lab.cancelled',
    path: { variable: 'LAB_ORDERS_PATH', default: ['/lab'] },
    table: 'lab_orders',
    identifiedBy: 'code',
    fields: { code: { ...text, schema: z.string() }, price: amount },
  });
  const callback = {
    ...receiptCallback(),
    event: 'lab.ordered',
    data: { code: 'CBC', price: 12.5, note: 'x' },
  };
  expect(envelopeSchema([...families, labOrder]).safeParse(callback).success).toBe(true);
  const delivery = { ...deliveryOf(callback as never), family: 'lab_order' };
  await insertDeliveries(database.pool, [delivery]);
  await applyDeliveries(database.db, [...families, labOrder], [delivery.id]);
  expect(await database.rows('select code, price, last_event, extra from lab_orders')).toEqual([
    { code: 'CBC', price: '12.5', last_event: 'lab.ordered', extra: { note: 'x' } },
  ]);
});
