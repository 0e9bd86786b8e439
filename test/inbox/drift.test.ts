import { families } from '../../src/families/index.ts';
import { Drift } from '../../src/inbox/drift.ts';
import { createLog } from '../../src/log.ts';
import { deliveryOf, receiptCallback, receiptData } from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let drift: Drift;
beforeAll(async () => {
  database = await createDatabase();
});
beforeEach(async () => {
  await database.pool.query('truncate schema_drift');
  drift = new Drift(database.pool, createLog('silent'), families);
});
afterEach(() => drift.close());
afterAll(() => database.close());

const observe = (callback: ReturnType<typeof receiptCallback>) => {
  const { id } = deliveryOf(callback);
  drift.observe(id, callback);
  return id;
};
const rows = () =>
  database.rows(
    'select event, field, kind, value, count::int from reporting.schema_drift order by kind, field',
  );

it('a callback with every documented field and known values is no drift', async () => {
  observe(receiptCallback());
  await drift.flush();
  expect(await rows()).toEqual([]);
});

it('unknown fields, missing fields and new values are counted, with times and the last example', async () => {
  const { aid, ...without } = receiptData;
  const different = {
    ...receiptCallback(),
    added: 1,
    data: { ...without, new_field: 1, receipt_status: 'VOID' },
  };
  observe(different as never);
  await drift.flush();
  const last = observe({ ...different, event_time: 5 } as never);
  await drift.flush();
  const event = 'receipt.created';
  expect(await rows()).toEqual([
    { event, field: '/data/aid', kind: 'missing', value: null, count: 2 },
    { event, field: '/added', kind: 'unknown', value: null, count: 2 },
    { event, field: '/data/new_field', kind: 'unknown', value: null, count: 2 },
    { event, field: '/data/receipt_status', kind: 'value', value: 'VOID', count: 2 },
  ]);
  const [row] = await database.rows(
    'select first_seen < last_seen as apart, example_delivery from schema_drift',
  );
  expect(row).toEqual({ apart: true, example_delivery: last });
});

it('a value or a key that may be somebody’s is not kept', async () => {
  observe(
    receiptCallback({ data: { actor: 'Asha Rao', 'Asha Rao': 1, '9900000001': 1, name: 'Never Seen' } }),
  );
  await drift.flush();
  expect((await rows()).map(({ field, value }) => [field, value])).toEqual([
    ['/data/…', null],
    ['/data/actor', '…'],
  ]);
});

it('what cannot be written is written later', async () => {
  await database.pool.query('alter table schema_drift rename to away');
  observe(receiptCallback({ data: { more: 1 } }));
  await drift.flush();
  await database.pool.query('alter table away rename to schema_drift');
  await drift.flush();
  expect(await rows()).toMatchObject([{ field: '/data/more', count: 1 }]);
});
