import fc from 'fast-check';
import { families } from '../../../src/families/index.ts';
import { deleteDeliveries } from '../../../src/privacy/delete-deliveries.ts';
import { applyReportTimezone } from '../../../src/store/reporting/settings.ts';
import { type Callback, deliveryOf, receiptCallback } from '../../support/callbacks.ts';
import { useDatabase } from '../../support/database.ts';
import { apply, clear, erasureTables } from '../../support/deliveries.ts';
import { appointment, day, midnight } from './rescheduled.ts';

const database = useDatabase();
beforeEach(() => clear(database, ...erasureTables));

const nine = midnight + 9.5 * 3_600;
const starts = async () =>
  (await database.rows('select starts_at from reporting.appointments')).map(({ starts_at }) => starts_at);
const schedule = () =>
  database.rows(
    'select appointment_id as id, day::text, state from reporting.schedule order by starts_at, 1',
  );

it.each([
  ['seconds', nine],
  ['milliseconds', nine * 1000],
  ['seconds as a text', String(nine)],
  ['ISO 8601 with an offset', '2024-03-02T09:30:00+05:30'],
  ['ISO 8601 with a space', '2024-03-02 04:00:00.000000+00:00'],
])('the start is read from %s', async (_, start_time) => {
  await apply(database, [appointment('a1', 0, { start_time })]);
  expect(await starts()).toEqual([new Date('2024-03-02T04:00:00Z')]);
});

it.each([
  'tomorrow',
  'infinity',
  '2024-03-02T09:30:00',
  '2024-02-30T09:30:00Z',
  -1,
  1e40,
  true,
  { at: nine },
])('%j is no start, and does not hold the appointment up', async (start_time) => {
  await apply(database, [appointment('a1', 0, { start_time })]);
  expect([await starts(), await schedule()]).toEqual([[null], []]);
});

it('a version without a start keeps the one before; null, or one that cannot be read, takes it back', async () => {
  await apply(database, [appointment('a1', 0, { start_time: nine })]);
  await apply(database, [appointment('a1', 1, { status: 'CK' })]);
  expect(await starts()).toEqual([new Date(nine * 1000)]);
  for (const [at, start_time] of [null, 'soon'].entries()) {
    await apply(database, [appointment('a1', 2 + at, { start_time })]);
    expect(await starts()).toEqual([null]);
  }
});

it('the day is that of the reports’ time zone, and follows it', async () => {
  await apply(database, [
    appointment('last', 0, { start_time: midnight + day - 1 }),
    appointment('first', 0, { start_time: midnight + day }),
  ]);
  const days = async () => (await schedule()).map(({ day }) => day);
  expect(await days()).toEqual(['2024-03-02', '2024-03-03']);
  await applyReportTimezone(database.db, 'UTC');
  try {
    expect(await days()).toEqual(['2024-03-02', '2024-03-02']);
  } finally {
    await applyReportTimezone(database.db, 'Asia/Kolkata');
  }
});

it('an appointment that moves is on its new day alone, whether its start changes or another one replaces it', async () => {
  await apply(database, [
    appointment('moved', 0, { start_time: nine + day }),
    appointment('replaced', 0, { start_time: nine + day, status: 'BK' }),
  ]);
  await apply(database, [
    appointment('moved', 1, { start_time: nine + 3 * day }),
    appointment('replaced', 1, { status: 'RES' }),
    appointment('next', 1, { start_time: nine + 4 * day, prev_aids: ['replaced'] }),
  ]);
  expect((await schedule()).map(({ id, day }) => [id, day])).toEqual([
    ['moved', '2024-03-05'],
    ['next', '2024-03-06'],
  ]);
});

const lifeCycle = ['reconciled', 'created', 'updated', 'statuschange'];
interface Version {
  event: string;
  at: number;
  modified: number | null;
  start: number | undefined;
}
const versions: fc.Arbitrary<Version[]> = fc.array(
  fc.record({
    event: fc.constantFrom(...lifeCycle),
    at: fc.integer({ min: 0, max: 2 }),
    modified: fc.option(fc.integer({ min: 0, max: 1 })),
    start: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
  }),
  { minLength: 1, maxLength: 7 },
);
const callbackOf = ({ event, at, modified, start }: Version): Callback => ({
  ...appointment('a1', 0, {
    modified_at: modified === null ? undefined : midnight + modified,
    start_time: start && midnight + start,
  }),
  event: `appointment.${event}`,
  event_time: midnight + at,
});

/** By event time, time of the change (which the reconciliation copies), life cycle, delivery. */
const orderOf = (version: Version) => {
  const { event, at, modified } = version;
  const changed = event === 'reconciled' || modified === null ? 0 : modified + 1;
  return [at, changed, lifeCycle.indexOf(event), deliveryOf(callbackOf(version)).id].join(' ');
};
const newestOf = (made: Version[]) =>
  made
    .filter(({ start }) => start !== undefined)
    .toSorted((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1))
    .at(-1);

it('any order and repetition of versions, reconciled ones too, and any deletion leave the newest start', async () => {
  await fc.assert(
    fc.asyncProperty(versions, fc.infiniteStream(fc.nat(6)), async (made, picks) => {
      await clear(database, ...erasureTables);
      const pick = () => picks.next().value! % made.length;
      const sent = [...made, ...made.slice(pick())].toSorted(() => pick() - pick());
      const half = pick();
      for (const part of [sent.slice(0, half), sent.slice(half)])
        if (part.length > 0) await apply(database, part.map(callbackOf));
      const startOf = (of: Version[]) => [
        newestOf(of) ? new Date((midnight + newestOf(of)!.start!) * 1000) : null,
      ];
      expect(await starts()).toEqual(startOf(made));

      const gone = orderOf(made[pick()]!).split(' ').at(-1)!;
      await database.db.transaction().execute((tx) => deleteDeliveries(tx, families, [gone], 'deleted'));
      const left = made.filter((version) => !orderOf(version).endsWith(gone));
      expect(await starts()).toEqual(left.length > 0 ? startOf(left) : []);
    }),
    { numRuns: 6 },
  );
});

it('the schedule names the patient as the newest receipt that has a name', async () => {
  const receipt = (receipt_id: number, data: object) =>
    receiptCallback({
      business_id: 'b1',
      data: { receipt_id, patient_oid: 'p1', created_at: receipt_id, ...data },
    });
  await apply(database, [
    appointment('a1', 0, { start_time: nine, patient_id: 'p1' }),
    appointment('a2', 0, { start_time: nine, patient_id: 'p2' }),
    receipt(1, { name: 'Asha R', mobile: '+919900000001' }),
    receipt(2, { name: 'Asha Rao', mobile: null }),
    receipt(3, { name: '' }),
    { ...receipt(4, { name: 'deleted' }), event: 'receipt.deleted' },
    { ...receipt(5, { name: 'of another business' }), business_id: 'b2' },
  ]);
  const people =
    'select appointment_id as id, patient_name as name, mobile from reporting.schedule order by 1';
  expect(await database.rows(people)).toEqual([
    { id: 'a1', name: 'Asha Rao', mobile: expect.any(String) },
    { id: 'a2', name: null, mobile: null },
  ]);
});
