import fc from 'fast-check';
import { applyDeliveries } from '../../src/apply/apply.ts';
import { families } from '../../src/families/index.ts';
import { consentFormCallback, deliveryOf, receiptCallback, samples } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { apply, clear, insertCallbacks } from '../support/deliveries.ts';
import { type Documented, documented } from '../support/platform/documented.ts';
import { type Meaning, meaningOf, seeded } from '../support/platform/meanings.ts';
import { type Accepted, expectedTables } from '../support/platform/model.ts';
import { spell } from '../support/platform/spellings.ts';

const database = useDatabase();
beforeEach(() => clear(database));

const second = 1_700_000_000;
const at = (seconds: number) => second + seconds;
/** A callback about receipt 7 with these fields alone. */
const lean = (event: 'updated' | 'deleted', seconds: number, data: object = {}) => ({
  ...receiptCallback({ event: `receipt.${event}`, event_time: at(seconds) }),
  data: { receipt_id: 7, ...data },
});
const created = (data: object = {}) =>
  receiptCallback({
    event_time: at(0),
    data: {
      ...{ receipt_id: 7, clinic_id: 'C1', receipt_amount: 900, sku_discount_amount: 0 },
      ...{ additional_discount_amount: 0, net_amount: 900, amount_paid: 0, amount_due: 900, ...data },
    },
  });
const receipts = (columns: string) => database.rows(`select ${columns} from reporting.all_receipts`);

it('a deletion with nothing but its id leaves the day, the clinic and the money of what it deletes', async () => {
  await apply(database, [created()]);
  const before = await receipts('day, clinic_id, net_amount, name');
  await apply(database, [lean('deleted', 86_400)]);
  expect(await receipts('day, clinic_id, net_amount, name')).toEqual(before);
  expect(
    await database.rows(
      'select clinic_id, receipts::int, deleted_receipts::int, deleted_net_amount from reporting.receipts_daily',
    ),
  ).toEqual([{ clinic_id: 'C1', receipts: 0, deleted_receipts: 1, deleted_net_amount: '900' }]);
});

it('an update with the paid amount alone takes nothing away, and what is due follows from what was paid', async () => {
  await apply(database, [created(), lean('updated', 60, { amount_paid: 400 })]);
  expect(await receipts('name, clinic_id, net_amount, paid_amount, due_amount')).toEqual([
    {
      ...{ name: receiptCallback().data.name, clinic_id: 'C1' },
      ...{ net_amount: '900', paid_amount: '400', due_amount: '500' },
    },
  ]);
  expect(await database.rows('select amount_due from receipts')).toEqual([{ amount_due: '900' }]);
  expect(
    await database.rows(
      'select net_amount, paid_amount, due_amount, day::text from reporting.receipts_daily',
    ),
  ).toEqual([{ net_amount: '900', paid_amount: '400', due_amount: '500', day: '2023-11-15' }]);
  expect(await database.rows('select due_amount from reporting.outstanding_receipts')).toEqual([
    { due_amount: '500' },
  ]);
});

it('a discount that is given later lowers what is to be paid and what is due', async () => {
  await apply(database, [created(), lean('updated', 60, { additional_discount_amount: 100 })]);
  expect(await receipts('net_amount, due_amount, additional_discount_type')).toEqual([
    { net_amount: '800', due_amount: '800', additional_discount_type: null },
  ]);
});

it('null is a value, and a field that is not there is none', async () => {
  await apply(database, [created(), lean('updated', 60, { name: null })]);
  expect(await receipts('name, clinic_id')).toEqual([{ name: null, clinic_id: 'C1' }]);
});

it('nulls of a deletion take nothing', async () => {
  await apply(database, [created(), lean('deleted', 60, { name: null, net_amount: null })]);
  expect(await receipts('name, net_amount')).toEqual([
    { name: receiptCallback().data.name, net_amount: '900' },
  ]);
});

it('an older version that arrives later fills what the newer one lacks, in families without versions, too', async () => {
  const update = consentFormCallback({ event: 'mcert.updated', event_time: at(60) });
  const { url: _, type: __, ...data } = update.data;
  await apply(database, [{ ...update, data: { ...data, note: 1 } }]);
  expect(await database.rows('select url, type from consent_forms')).toEqual([{ url: null, type: null }]);
  await apply(database, [consentFormCallback({ data: { other: 2 } })]);
  const { url, type } = consentFormCallback().data;
  expect(await database.rows('select url, type, last_event, extra from consent_forms')).toEqual([
    { url, type, last_event: 'mcert.updated', extra: { note: 1, other: 2 } },
  ]);
});

it.each([
  ['null', { completed_at: null, completed_by: null }],
  ['zero', { completed_at: 0 }],
  ['absent', {}],
])('a clearance that is open again has no time and no person of its completion: %s', async (_, times) => {
  const open = samples.admission_clearance({
    event: 'ipd_admissions_clearances.updated',
    event_time: at(60),
  });
  const { type } = open.data;
  await apply(database, [
    samples.admission_clearance({ data: { status: 'APPROVED' } }),
    { ...open, data: { type, status: 'PENDING', ...times } },
  ]);
  expect(await database.rows('select status, completed_at, completed_by from admission_clearances')).toEqual([
    { status: 'PENDING', completed_at: null, completed_by: null },
  ]);
});

it.each([
  ['a deletion in whole seconds', 'receipt.deleted', at(0), at(1) * 1000],
  ['an update in whole seconds', 'receipt.updated', at(0), at(1) * 1000],
  ['an update that was changed in the same second', 'receipt.updated', at(0) * 1000 + 500, at(0)],
])(
  '%s wins against a create with milliseconds of the same second',
  async (_, event, event_time, updated_at) => {
    const first = receiptCallback({
      event_time: at(0) * 1000 + 500,
      data: { updated_at: at(0) * 1000 + 123 },
    });
    const later = receiptCallback({ event, event_time, data: { updated_at } });
    for (const order of [
      [first, later],
      [later, first],
    ]) {
      await clear(database);
      for (const one of order) await apply(database, [one]);
      expect(await database.rows('select last_event from receipts')).toEqual([{ last_event: event }]);
    }
  },
);

it('without a time of its creation a record counts on the day of its earliest event, whatever comes first', async () => {
  const events = [lean('updated', 3 * 86_400), lean('updated', 0, { name: 'a' }), lean('updated', 86_400)];
  for (const order of [
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
  ]) {
    await clear(database);
    for (const index of order) await apply(database, [events[index]!]);
    expect(await receipts('day::text')).toEqual([{ day: '2023-11-15' }]);
    expect(await database.rows('select first_event_time from receipts')).toEqual([
      { first_event_time: new Date(second * 1000) },
    ]);
  }
});

interface Drawn {
  meaning: Meaning;
  body: Record<string, unknown>;
}

/** Callbacks about few records of a family, of which many are lean or oddly timed. */
function drawn(seed: number, of: Documented, count: number): Drawn[] {
  const random = seeded(seed);
  const events = Object.keys(of.events);
  return Array.from({ length: count }, () => {
    const meaning = meaningOf(of, random.pick(events), random);
    meaning.business = 'b1';
    return {
      meaning,
      body: { ...spell(meaning, random.pick(['documented', 'seen']), random), event: meaning.event },
    };
  });
}

const idOf = ({ body }: Drawn) => deliveryOf(body as never).id;

const accepted = (callbacks: readonly Drawn[]): Accepted[] =>
  [...new Map(callbacks.map((one) => [idOf(one), one]))].map(([id, { meaning, body }]) => ({
    ...{ id, meaning, data: body.data as Record<string, unknown> },
    ...{ received_at: null, applied_at: null },
  }));

/** The rows of a table, with times in milliseconds. */
async function rowsOf(table: string): Promise<Record<string, unknown>[]> {
  const { fields } = await database.pool.query(`select * from ${table} limit 0`);
  const times = new Set(fields.filter(({ dataTypeID }) => dataTypeID === 1184).map(({ name }) => name));
  const rows = await database.rows(`select to_jsonb(t) as row from ${table} t`);
  return rows.map(({ row }) =>
    Object.fromEntries(
      Object.entries(row as Record<string, unknown>).map(([name, value]) => {
        const ms = times.has(name) && value !== null ? Date.parse(value as string) : value;
        return [name, name === 'received_at' || name === 'applied_at' ? null : ms];
      }),
    ),
  );
}

const byDelivery = (rows: Record<string, unknown>[]) =>
  rows.toSorted((a, b) => (String(a.delivery_id) < String(b.delivery_id) ? -1 : 1));

const withRecords = documented.filter(({ key }) => key);

it.each(withRecords.map((of) => [of.family, of] as const))(
  'each field of a %s has the value of the greatest version that says it: in any order, in any parts, with any repetitions',
  async (_, of) => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.integer({ min: 1, max: 12 }),
        fc.array(fc.nat(11), { maxLength: 4 }),
        async (seed, size, again) => {
          await clear(database);
          const callbacks = drawn(seed, of, 12);
          const ids: string[] = [];
          for (let from = 0; from < callbacks.length; from += size) {
            ids.push(
              ...(await apply(
                database,
                callbacks.slice(from, from + size).map(({ body }) => body),
              )),
            );
          }
          expect(await database.rows('select error from failed_deliveries')).toEqual([]);
          const repeated = [...new Set(again.map((index) => ids[index]!))];
          const { changed } = await applyDeliveries(database.db, families, repeated, { status: 'applied' });
          expect(changed).toBe(0);
          for (const [table, rows] of Object.entries(expectedTables([of], accepted(callbacks)))) {
            expect(byDelivery(await rowsOf(table))).toEqual(byDelivery(rows));
          }
        },
      ),
      { numRuns: 4 },
    );
  },
  60_000,
);

it.each(withRecords.filter(({ versions }) => versions).map((of) => [of.family, of] as const))(
  'the order of the versions of a %s is total, and the same for its key, for a comparison of rows and for the model',
  async (_, of) => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        await clear(database);
        const callbacks = drawn(seed, of, 12);
        for (const { meaning, body } of callbacks) {
          meaning.values[of.key!] = 1;
          body.data = { ...(body.data as object), [of.key!]: of.family === 'receipt' ? 1 : '1' };
        }
        const ids = await insertCallbacks(
          database,
          callbacks.map(({ body }) => body),
        );
        for (const id of ids) await applyDeliveries(database.db, families, [id]);
        const rows = await database.rows(
          `select delivery_id from (select * from ${of.table} union all select * from ${of.versions}) v
           order by version_key_of(last_event, event_time, ${of.orderedBy}, carried, delivery_id) collate "C"`,
        );
        expect(rows.map(({ delivery_id }) => delivery_id)).toEqual(inOrder(accepted(callbacks)));
        const [newest] = await database.rows(`select delivery_id from ${of.table}`);
        expect(newest!.delivery_id).toBe(rows.at(-1)!.delivery_id);
      }),
      { numRuns: 4 },
    );
  },
  60_000,
);

/** The ids of deliveries about one thing, the oldest version first. */
const inOrder = (versions: readonly Accepted[]): string[] => {
  const left = [...versions];
  const order: string[] = [];
  while (left.length > 0) {
    const [row] = expectedTables([left[0]!.meaning.of], left)[left[0]!.meaning.of.table]!;
    const newest = left.findIndex(({ id }) => id === row!.delivery_id);
    order.unshift(left.splice(newest, 1)[0]!.id);
  }
  return order;
};

it('receipt_history and receipts_as_of tell what was known: of each version, and at each moment', async () => {
  const of = documented.find(({ family }) => family === 'receipt')!;
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      await clear(database);
      const callbacks = drawn(seed, of, 10);
      const moments: string[] = [];
      for (const { body } of callbacks) {
        await apply(database, [body]);
        moments.push(String((await database.rows('select clock_timestamp()::text as now'))[0]!.now));
      }
      const columns =
        'delivery_id, name, paid_amount::float8, clinic_id, extract(epoch from issued_at) * 1000 as at';
      const expectedOf = (rows: Record<string, unknown>[]) =>
        rows.map((row) => ({
          ...{
            delivery_id: row.delivery_id,
            name: row.name,
            paid_amount: row.amount_paid,
            clinic_id: row.clinic_id,
          },
          at: row.created_at ?? row.first_event_time ?? row.event_time,
        }));
      const numbered = (rows: Record<string, unknown>[]) =>
        rows.map((row) => ({ ...row, at: Number(row.at) }));
      for (const [index, moment] of moments.entries()) {
        const rows = await database.rows(`select ${columns} from reporting.receipts_as_of($1)`, [moment]);
        const known = expectedTables([of], accepted(callbacks.slice(0, index + 1))).receipts!;
        expect(byDelivery(numbered(rows))).toEqual(byDelivery(expectedOf(known)));
      }
      const history = await database.rows(
        `select ${columns}, receipt_id, version::int from reporting.receipt_history`,
      );
      for (const { receipt_id, version, ...row } of history) {
        const versions = accepted(callbacks).filter(
          ({ meaning }) => meaning.values.receipt_id === Number(receipt_id),
        );
        const upTo = new Set(inOrder(versions).slice(0, version as number));
        const known = expectedTables(
          [of],
          versions.filter(({ id }) => upTo.has(id)),
        ).receipts!;
        expect(numbered([row])).toEqual(expectedOf(known));
      }
    }),
    { numRuns: 4 },
  );
}, 60_000);
