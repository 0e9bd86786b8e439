import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { createDrift } from '../../src/intake/drift.ts';
import { withClient } from '../../src/store/pool.ts';
import { deliveryOf, receiptCallback, receiptData } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
let drift: ReturnType<typeof createDrift>;
beforeEach(async () => {
  await database.pool.query('truncate schema_drift');
  drift = createDrift(database.pool, createLog('silent'), families);
});
afterEach(() => drift.close());

const observe = (callback: ReturnType<typeof receiptCallback>) => {
  const { id } = deliveryOf(callback);
  drift.observe(id, callback);
  return id;
};
const rows = () =>
  database.rows(
    'select event, field, kind, value, count::int from reporting.schema_drift order by kind, field',
  );

it('a callback with all documented fields and known values is no drift', async () => {
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

it('a value or key that may be personal data is not stored', async () => {
  observe(
    receiptCallback({ data: { actor: 'Asha Rao', 'Asha Rao': 1, '9900000001': 1, name: 'Never Seen' } }),
  );
  await drift.flush();
  expect((await rows()).map(({ field, value }) => [field, value])).toEqual([
    ['/data/<key>', null],
    ['/data/actor', '<key>'],
  ]);
});

it('a key with as many digits as a phone number, and the keys of a dictionary, are not stored', async () => {
  observe(receiptCallback({ data: { phone_9900000001: 1, p161467756044204: 1, icd10: 1 } }));
  const words = Array.from({ length: 60 }, (_, index) => `${'name_'}${'ab'.repeat(index % 15)}${index}`);
  observe(receiptCallback({ data: Object.fromEntries(words.map((word) => [word, 1])) }));
  await drift.flush();
  expect((await rows()).map(({ field, count }) => [field, count])).toEqual([
    ['/data/<key>', 62],
    ['/data/icd10', 1],
  ]);
});

const unknownFields = (from: number, count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`field_${from + index}`, 1]));

it('unknown fields and values have at most a hundred rows per event, and one that counts the rest', async () => {
  const others = [1, 2].map(() => createDrift(database.pool, createLog('silent'), families));
  const drifts = [drift, ...others];
  // Three processes at the same time, and again after a restart.
  for (const round of [0, 1]) {
    for (const [index, each] of drifts.entries()) {
      for (const part of [0, 1, 2, 3, 4, 5]) {
        const from = round * 10_000 + index * 1_000 + part * 35;
        const callback = receiptCallback({
          data: { ...unknownFields(from, 35), actor: `value_${from}`, aid: undefined },
        });
        each.observe(deliveryOf(callback).id, callback);
      }
      each.observe(
        deliveryOf(receiptCallback()).id,
        receiptCallback({ event: 'receipt.deleted', data: { more: 1 } }),
      );
    }
    await Promise.all(drifts.map((each) => each.flush()));
  }
  await Promise.all(others.map((each) => each.close()));
  expect(
    await database.rows(
      `select event, kind, count(*)::int as rows, sum(count)::int as count from reporting.schema_drift
       where kind not in ('unknown', 'value') or event <> 'receipt.created' group by 1, 2 order by 1, 2`,
    ),
  ).toEqual([
    { event: 'receipt.created', kind: 'missing', rows: 1, count: 36 },
    { event: 'receipt.created', kind: 'other', rows: 1, count: 36 * 36 - 100 },
    { event: 'receipt.deleted', kind: 'unknown', rows: 1, count: 6 },
  ]);
  expect(
    await database.rows(
      `select count(*)::int as rows, sum(count)::int as count from schema_drift
       where kind in ('unknown', 'value') and event = 'receipt.created'`,
    ),
  ).toEqual([{ rows: 100, count: 100 }]);
});

it('two receivers that write at the same time share the limit of a hundred rows', async () => {
  await withClient(database.url, async (other) => {
    const notes = Object.keys(unknownFields(1_000, 60)).map((name) => ({
      event: 'receipt.created',
      field: `/data/${name}`,
      kind: 'unknown',
      value: '',
      count: 1,
      first_seen: new Date(),
      last_seen: new Date(),
      example_delivery: deliveryOf(receiptCallback()).id,
    }));
    await other.query('begin');
    await other.query('select record_schema_drift($1)', [JSON.stringify(notes)]);
    for (const from of [0, 30]) observe(receiptCallback({ data: unknownFields(from, 30) }));
    let isDone = false;
    const flushed = drift.flush().then(() => {
      isDone = true;
    });
    const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await until(async () => isDone || (await database.rows(waits)).length > 0);
    await other.query('commit');
    await flushed;
  });
  expect(
    await database.rows('select kind, count(*)::int as rows from schema_drift group by 1 order by 1'),
  ).toEqual([
    { kind: 'other', rows: 1 },
    { kind: 'unknown', rows: 100 },
  ]);
});

it('a known difference is counted in its row, even beyond the limit', async () => {
  observe(receiptCallback({ data: { known: 1 } }));
  await drift.flush();
  for (let from = 0; from < 500; from += 50) observe(receiptCallback({ data: unknownFields(from, 50) }));
  await drift.flush();
  observe(receiptCallback({ data: { known: 1 } }));
  await drift.flush();
  expect(await database.rows(`select count::int from schema_drift where field = '/data/known'`)).toEqual([
    { count: 2 },
  ]);
});

it('counts that could not be written are written later', async () => {
  await database.pool.query('alter table schema_drift rename to schema_drift_elsewhere');
  observe(receiptCallback({ data: { more: 1 } }));
  await drift.flush();
  await database.pool.query('alter table schema_drift_elsewhere rename to schema_drift');
  await drift.flush();
  expect(await rows()).toMatchObject([{ field: '/data/more', count: 1 }]);
});
