import { erasePatient } from '../../src/privacy/erase.ts';
import { coreOf, storeAndMerge } from '../support/core.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { apply } from './apply.ts';

const database = useReceiverDatabase('test');
const seconds = (iso: string) => Date.parse(iso) / 1000;
/** The columns of a view, a line for each row. */
const lines = async (columns: string, view: string) =>
  (await database.rows(`select concat_ws(' ', ${columns}) as line from reporting.${view} order by 1`)).map(
    ({ line }) => line,
  );

// Midnight in India is 18:30 UTC.
const evening = seconds('2026-03-01T18:29:59Z');
const midnight = seconds('2026-03-01T18:30:00Z');

const of = (event: string, data: object, event_time = midnight) => ({
  event,
  event_time,
  business_id: 'b',
  data,
});
const receipt = (receipt_id: number, data: object = {}, event = 'created', event_time = midnight) =>
  of(`receipt.${event}`, { receipt_id, ...data }, event_time);

describe('receipts', () => {
  const whole = { created_at: evening, doctor_oid: 'd', clinic_id: 'c', patient_oid: 'p' };
  const amounts = (net_amount: number, amount_paid: number | null, amount_due: number) => ({
    ...whole,
    ...{ receipt_amount: net_amount + 10, sku_discount_amount: 4, additional_discount_amount: 6 },
    ...{ net_amount, amount_paid, amount_due },
  });
  beforeEach(() =>
    apply(database, [
      // Paid later, but for a rounding error.
      receipt(1, { ...amounts(500, 0, 500), mobile: '+91 98765 43210', name: 'Asha' }),
      receipt(1, { amount_paid: 499.9999 }, 'updated', midnight + 1),
      // What is paid is not known.
      receipt(2, { ...amounts(300, null, 120), mobile: '+91 98765 43210', created_at: midnight }),
      // A part is given back.
      receipt(3, amounts(200, 250, 0)),
      receipt(4, { ...amounts(70, 0, 70), mobile: '098765-43210', patient_oid: 'q' }),
      // Deleted: with nothing but its id, also where nothing else has come.
      receipt(5, amounts(1000, 1000, 0)),
      receipt(5, {}, 'deleted', midnight + 1),
      receipt(6, {}, 'deleted', evening),
      // Without a time of creation, and with a later event of another day.
      receipt(7, { ...amounts(70, 0, 70), created_at: undefined, patient_oid: 'r' }, 'created', evening),
      receipt(7, { remarks: 'seen' }, 'updated', midnight + 1),
      // Twice, and on another day.
      receipt(8, { ...amounts(70, 70, 0), patient_oid: 'q' }),
      receipt(9, { ...amounts(70, 70, 0), patient_oid: 'q', created_at: midnight }),
    ]),
  );

  it('are due what is net less paid, and count on the day on which they were issued', async () => {
    expect(
      await lines(`receipt_id, day, name, 'paid', paid_amount, 'due', trim_scale(due_amount)`, 'receipts'),
    ).toEqual([
      '1 2026-03-01 Asha paid 499.9999 due 0',
      '2 2026-03-02 paid due 120',
      '3 2026-03-01 paid 250 due -50',
      '4 2026-03-01 paid 0 due 70',
      '7 2026-03-01 paid 0 due 70',
      '8 2026-03-01 paid 70 due 0',
      '9 2026-03-02 paid 70 due 0',
    ]);
    expect(await lines('receipt_id, day, net_amount', 'deleted_receipts')).toEqual([
      '5 2026-03-01 1000',
      '6 2026-03-01',
    ]);
  });

  it('are added up by day, with forms and requests', async () => {
    await apply(database, [
      of('mcert.created', { id: 'm', docid: 'd' }, evening),
      of('receipt_payment.requested', { doctor_id: 'd', net_amount: 80 }),
      of('google_review.request', { doctor_id: 'd', clinic_id: 'c' }),
    ]);
    const sums =
      'receipts, gross_amount, discount_amount, net_amount, trim_scale(due_amount), deleted_receipts, deleted_net_amount';
    expect(await lines(`day, doctor_id, ${sums}`, 'receipts_daily')).toEqual([
      '2026-03-01 0 0 0 0 0 1 0',
      '2026-03-01 d 5 960 50 910 90 1 1000',
      '2026-03-02 d 2 390 20 370 120 0 0',
    ]);
    expect(
      await lines(
        `day, ${sums}, payment_requests, requested_amount, consent_forms, review_requests`,
        'businesses_daily',
      ),
    ).toEqual(['2026-03-01 5 960 50 910 90 2 1000 0 0 1 0', '2026-03-02 2 390 20 370 120 0 0 1 80 0 1']);
    const counts = 'net_amount, receipts, consent_forms, review_requests';
    expect(await lines(`day, doctor_id, ${counts}`, 'doctors_daily')).toEqual([
      '2026-03-01 d 910 5 1 0',
      '2026-03-02 d 370 2 0 1',
    ]);
    expect(await lines(`day, clinic_id, ${counts}`, 'clinics_daily')).toEqual([
      '2026-03-01 0 0 1 0',
      '2026-03-01 c 910 5 0 0',
      '2026-03-02 c 370 2 0 1',
    ]);
  });

  it('whose status is FAILED, in any case, are listed with it, and are in no sum', async () => {
    const daily = ['receipts', 'businesses', 'doctors', 'clinics'].map((name) => `${name}_daily`);
    const views = [...daily, 'outstanding_receipts', 'outstanding_by_phone', 'duplicate_receipts'];
    const sums = () => Promise.all(views.map((view) => lines('to_jsonb(r)', `${view} r`)));
    const before = await sums();
    await apply(database, [
      receipt(20, { ...amounts(70, 0, 70), receipt_status: 'FAILED', patient_oid: 'q' }),
      receipt(21, { ...amounts(70, 0, 70), receipt_status: 'failed', patient_oid: 'q' }),
      receipt(22, { ...amounts(70, 0, 70), receipt_status: 'Failed' }),
      receipt(22, {}, 'deleted', midnight + 1),
    ]);
    expect(await sums()).toEqual(before);
    expect(
      await lines('receipt_id, status, net_amount', 'receipts r where reporting.is_failed(status)'),
    ).toEqual(['20 FAILED 70', '21 failed 70']);
  });

  it('that are not paid are listed, also by phone number; and those that are there twice', async () => {
    const age = `days_outstanding - (reporting.today() - date '2026-03-01')`;
    expect(await lines(`receipt_id, due_amount, ${age}`, 'outstanding_receipts')).toEqual([
      '2 120 -1',
      '4 70 0',
      '7 70 0',
    ]);
    expect(
      await lines(
        'patient_ids, receipts, due_amount, first_receipt_id, oldest_day, newest_day',
        'outstanding_by_phone',
      ),
    ).toEqual(['["p", "q"] 2 190 2 2026-03-01 2026-03-02', '["r"] 1 70 7 2026-03-01 2026-03-01']);
    expect(await lines('receipt_id, copy_number, first_receipt_id', 'duplicate_receipts')).toEqual([
      '4 1 4',
      '8 2 4',
    ]);
  });
});

describe('payments', () => {
  const noon = midnight + 41_400;
  const day = 86_400;
  const rows = () => lines(`day, receipt_id, kind, trim_scale(amount)`, 'payments');

  it('are on the day on which an amount paid changed, with the clinic, doctor and patient that the receipt has now', async () => {
    const whose = { clinic_id: 'c', doctor_oid: 'd', patient_oid: 'p' };
    await apply(database, [
      receipt(1, { ...whose, amount_paid: 900 }),
      receipt(1, { amount_paid: 850, clinic_id: 'c2' }, 'updated', noon + 4 * day),
      // Before midnight in India, and at midnight.
      receipt(2, { amount_paid: 10 }, 'created', evening),
      receipt(2, { amount_paid: 30 }, 'updated', midnight),
      { ...receipt(1, { amount_paid: 5 }), business_id: 'b2' },
    ]);
    expect(
      await lines(
        'business_id, receipt_id, day, kind, trim_scale(amount), clinic_id, doctor_id, patient_id',
        'payments',
      ),
    ).toEqual([
      'b 1 2026-03-02 payment 900 c2 d p',
      'b 1 2026-03-06 refund -50 c2 d p',
      'b 2 2026-03-01 payment 10',
      'b 2 2026-03-02 payment 20',
      'b2 1 2026-03-02 payment 5',
    ]);
  });

  it('keep their amounts and days when the patient is erased, with the new ids of the callbacks', async () => {
    await apply(database, [
      receipt(1, { patient_oid: 'p', amount_paid: 100 }, 'created', noon),
      receipt(1, { amount_paid: 150 }, 'updated', noon + day),
    ]);
    const before = await rows();
    const core = coreOf(database);
    await erasePatient(core, { id: 'somebody' }, ['p:platform:p']);
    await storeAndMerge(core, receipt(1, { patient_oid: 'p', amount_paid: 140 }, 'updated', noon + 2 * day));
    expect(await rows()).toEqual([...before, '2026-03-04 1 refund -10']);
    expect(await lines('patient_id', 'payments')).toEqual(['', '', '']);
    expect(
      await lines(
        'count(*)',
        'payments join receiver.inbox on id = delivery_id where subjects[1] = $$reduced$$',
      ),
    ).toEqual(['3']);
  });
});

it('a phone number is read in digits of any script, and what is none adds no strangers up', async () => {
  const key = async (phone: string) => {
    const [row] = await database.rows('select reporting.phone_key($1) as key', [phone]);
    return row!.key === null ? null : Number(row!.key);
  };
  for (const phone of [
    '+91 98765 43210',
    '098765-43210',
    '+९१ ९८७६५ ४३२१०',
    '９８７６５４３２１０',
    '٩٨٧٦٥٤٣٢١٠',
  ])
    expect([phone, await key(phone)]).toEqual([phone, 9876543210]);
  for (const phone of ['', '0', '0000000000', '+91', '91', '+91 0', '+91 0000000000', 'none', '—'])
    expect([phone, await key(phone)]).toEqual([phone, null]);
  await apply(
    database,
    ['+91', '+91 आ', '0', null, ''].map((mobile, n) =>
      receipt(n, { net_amount: 70, amount_paid: 0, mobile, patient_oid: n < 2 ? `p${n}` : undefined }),
    ),
  );
  const alone = [0, 1, 2, 3, 4].map((id) => `1 ${id}`);
  expect(await lines('receipts, first_receipt_id', 'outstanding_by_phone')).toEqual(alone);
});

it('an appointment is booked, begins and is completed when the callbacks say so', async () => {
  const visit = (appointment_id: string, at: number, data: object, event = 'statuschange') =>
    of(`appointment.${event}`, { appointment_id, ...data }, midnight + at);
  const booked = { status: 'BK', patient_id: 'p', created_at: evening, start_time: midnight + 600 };
  await apply(database, [
    receipt(1, { patient_oid: 'p', name: 'Asha', mobile: '98765' }),
    receipt(2, { patient_oid: 'p', created_at: midnight - 1, name: 'A' }),
    receipt(3, { patient_oid: 'p', name: 'Gone' }),
    receipt(3, {}, 'deleted'),
    visit('a', 0, booked, 'created'),
    visit('a', 1_800, { status: 'CMNP', modified_at: midnight + 1_799 }),
    visit('a', 3_600, { status: 'CM', modified_at: midnight + 3_600 }),
    visit('a', 3_601, { partner_meta: {} }, 'updated'),
    visit('b', 0, { status: 'RES', start_time: midnight + 700 }),
    visit('c', 0, { status: 'NS' }),
    visit('c', 60, { partner_meta: {} }),
  ]);
  const after = (time: string) => `coalesce((extract(epoch from ${time}) - ${midnight})::int::text, '-')`;
  expect(
    await lines(
      `appointment_id, day, ${['booked_at', 'completed_at', 'starts_at'].map(after)}, state`,
      'appointments',
    ),
  ).toEqual([
    'a 2026-03-01 -1 1799 600 completed',
    'b 2026-03-02 0 - 700 rescheduled',
    'c 2026-03-02 0 - - no_show',
  ]);
  expect(await lines('appointment_id, day, patient_name, mobile', 'schedule')).toEqual([
    'a 2026-03-02 Asha 98765',
  ]);
  expect(
    await lines(
      'day, appointments, completed, rescheduled, no_show_share, completion_average_hours',
      'appointments_daily',
    ),
  ).toEqual(['2026-03-01 1 1 0 0.0000 0.50', '2026-03-02 2 0 1 1.0000']);
});

it('an admission is open until its stage or status says otherwise, with dues and open clearances', async () => {
  const admitted = { id: 'i', pid: 'p', totalbilled: 900, stage: 'ward', admission_date: evening };
  const part = { transaction_id: 'ipd/b/admissions/i/clearances/x' };
  await apply(database, [
    of('ipd_admissions.created', admitted),
    of('ipd_admissions.created', { id: 'j', status: 'Discharged' }),
    { ...of('ipd_admissions_clearances.created', { type: 'pharmacy', status: 'pending' }), ...part },
    { ...of('ipd_admissions_estimates.created', { id: 'e', quantity: 2, rate: 40 }), ...part },
  ]);
  expect(
    await lines(
      'admission_id, day, patient_id, due_amount, estimated_amount, open_clearances, open_clearance_types',
      'open_admissions',
    ),
  ).toEqual(['i 2026-03-01 p 900 80 1 pharmacy']);
});

it('deliveries are counted by what became of them, and rejected ones with them', async () => {
  await apply(database, [receipt(1), receipt(2), receipt(3)]);
  await database.rows(`
    update receiver.inbox set received_at = to_timestamp(${evening});
    insert into receiver.pending_deliveries (id, family, next_at)
    select id, family, case record_id when '1' then 'infinity'::timestamptz else now() end from receiver.inbox where record_id < '3';
    insert into receiver.resends select id, 4, now() from receiver.inbox where record_id = '3';
    insert into receiver.quarantine (id, path, family, business_id, reason, errors, body, received_at)
    values (gen_random_uuid(), '/', 'receipt', 'b', 'invalid', '[]', '', to_timestamp(${evening}))`);
  const counts = 'received, applied, failed, waiting, quarantined, duplicates, reconciled';
  expect(await lines(`business_id, family, day, ${counts}`, 'deliveries_daily')).toEqual([
    'b receipt 2026-03-01 3 1 1 1 1 4 0',
  ]);
  expect(await lines('receipt_id, status, hour at time zone reporting.timezone()', 'deliveries')).toEqual(
    ['1 failed', '2 received', '3 applied'].map((line) => `${line} 2026-03-01 23:00:00`),
  );
});

it('silence is out of the ordinary where callbacks were expected in the same part of the week', async () => {
  const arrivals = (business: string, hours: number[], receivedAt = 'event_time') =>
    database.rows(
      `insert into receiver.inbox (id, family, event, client_id, business_id, record_id, version, event_time, subjects, envelope, received_at)
       select gen_random_uuid(), 'notice', 'vaccination.reminder', '', $1, gen_random_uuid(), '', event_time, '{}', '{}', ${receivedAt}
       from unnest($2::float[]) h cross join lateral (select now() - h * interval '1 hour' as event_time) e`,
      [business, hours],
    );
  const range = (from: number, to: number, step = 1) =>
    Array.from({ length: Math.ceil((to - from) / step) }, (_, n) => from + n * step);
  await arrivals('hourly', range(10.5, 28 * 24));
  await arrivals(
    'closed at this time',
    range(10, 35 * 24).filter((hour) => hour % 168 >= 10),
  );
  await arrivals('daily', range(150, 40 * 24, 24));
  await arrivals('longer than a week', range(240, 240 + 28 * 24, 24));
  await arrivals('one whole week', range(10.5, 10.5 + 13.9 * 24));
  await arrivals('new', [20, 30, 50]);
  await arrivals('inactive', [91 * 24]);
  // A history that came just now: by its arrival, both would have sent it now.
  await arrivals('stopped in a history', range(20 * 24, 60 * 24, 2), 'now()');
  await arrivals('goes on after a history', range(0.1, 60 * 24, 2), 'now()');
  // A callback of long ago that comes again says nothing about now.
  await arrivals('hourly', [600], 'now()');
  expect(await lines('business_id, expected_callbacks, out_of_the_ordinary', 'silence')).toEqual([
    'closed at this time 0.0 f',
    'daily 6.0 t',
    'goes on after a history 0.0 f',
    'hourly 10.0 t',
    'longer than a week 10.0 t',
    'new',
    'one whole week 10.0 t',
    'stopped in a history 240.0 t',
  ]);
});

it('an outage is a gap of more than three minutes between the minutes in which callbacks could be taken', async () => {
  await database.rows(
    `insert into receiver.heartbeats select timestamptz '2026-03-01T18:20Z' + n * interval '1 minute' from unnest(array[0, 1, 4, 9, 10]) n`,
  );
  expect(await lines(`day, minutes, (until_at at time zone 'utc')::time`, 'outages')).toEqual([
    '2026-03-01 5 18:29:00',
  ]);
});
