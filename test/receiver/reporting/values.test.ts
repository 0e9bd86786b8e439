import { useReceiverDatabase } from '../support/database.ts';
import { apply, seconds } from './apply.ts';

const database = useReceiverDatabase('test');

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
      await database.rows(
        `select receipt_id::int as id, day::text, name, paid_amount as paid, due_amount::float as due from reporting.receipts order by 1`,
      ),
    ).toEqual([
      { id: 1, day: '2026-03-01', name: 'Asha', paid: '499.9999', due: 0 },
      { id: 2, day: '2026-03-02', name: null, paid: null, due: 120 },
      { id: 3, day: '2026-03-01', name: null, paid: '250', due: -50 },
      { id: 4, day: '2026-03-01', name: null, paid: '0', due: 70 },
      { id: 7, day: '2026-03-01', name: null, paid: '0', due: 70 },
      { id: 8, day: '2026-03-01', name: null, paid: '70', due: 0 },
      { id: 9, day: '2026-03-02', name: null, paid: '70', due: 0 },
    ]);
    expect(
      await database.rows(
        'select receipt_id::int as id, day::text, net_amount as net from reporting.deleted_receipts order by 1',
      ),
    ).toEqual([
      { id: 5, day: '2026-03-01', net: '1000' },
      { id: 6, day: '2026-03-01', net: null },
    ]);
  });

  it('are added up by day', async () => {
    const sums =
      'receipts::int, net_amount as net, due_amount::float as due, deleted_receipts::int as deleted';
    const daily = (view: string, more: string) =>
      database.rows(
        `select day::text, ${more}, ${sums} from reporting.${view} order by day, doctor_id nulls last`,
      );
    const days = [
      { day: '2026-03-01', doctor_id: 'd', net: '910', due: 90, receipts: 5, deleted: 1 },
      { day: '2026-03-01', doctor_id: null, net: '0', due: 0, receipts: 0, deleted: 1 },
      { day: '2026-03-02', doctor_id: 'd', net: '370', due: 120, receipts: 2, deleted: 0 },
    ];
    expect(await daily('receipts_daily', 'doctor_id')).toEqual(days);
    await apply(database, [
      of('mcert.created', { id: 'm', docid: 'd' }, evening),
      of('receipt_payment.requested', { doctor_id: 'd', net_amount: 80 }),
      of('google_review.request', { doctor_id: 'd', clinic_id: 'c' }),
    ]);
    expect(
      await database.rows(
        `select day::text, receipts::int, gross_amount::int as gross, discount_amount::int as discount, deleted_net_amount::int as deleted,
                payment_requests::int as asked, requested_amount::int as amount, consent_forms::int as forms, review_requests::int as reviews
         from reporting.businesses_daily order by 1`,
      ),
    ).toEqual([
      {
        day: '2026-03-01',
        receipts: 5,
        gross: 960,
        discount: 50,
        deleted: 1000,
        asked: 0,
        amount: 0,
        forms: 1,
        reviews: 0,
      },
      {
        day: '2026-03-02',
        receipts: 2,
        gross: 390,
        discount: 20,
        deleted: 0,
        asked: 1,
        amount: 80,
        forms: 0,
        reviews: 1,
      },
    ]);
    const forms = 'receipts::int, consent_forms::int as forms, review_requests::int as reviews';
    expect(
      await database.rows(`select doctor_id, day::text, ${forms} from reporting.doctors_daily order by 2`),
    ).toEqual([
      { doctor_id: 'd', day: '2026-03-01', receipts: 5, forms: 1, reviews: 0 },
      { doctor_id: 'd', day: '2026-03-02', receipts: 2, forms: 0, reviews: 1 },
    ]);
    expect(
      await database.rows(`select clinic_id, day::text, ${forms} from reporting.clinics_daily order by 2, 1`),
    ).toEqual([
      { clinic_id: 'c', day: '2026-03-01', receipts: 5, forms: 0, reviews: 0 },
      { clinic_id: null, day: '2026-03-01', receipts: 0, forms: 1, reviews: 0 },
      { clinic_id: 'c', day: '2026-03-02', receipts: 2, forms: 0, reviews: 1 },
    ]);
  });

  it('that are not paid are listed, also by phone number; and those that are there twice', async () => {
    const today = Math.floor((Date.now() + 5.5 * 3_600_000) / 86_400_000);
    const age = today - Math.floor((evening + 5.5 * 3_600) / 86_400);
    expect(
      await database.rows(
        `select receipt_id::int as id, due_amount::int as due, days_outstanding as age from reporting.outstanding_receipts order by 1`,
      ),
    ).toEqual([
      { id: 2, due: 120, age: age - 1 },
      { id: 4, due: 70, age },
      { id: 7, due: 70, age },
    ]);
    expect(
      await database.rows(
        `select patient_ids, receipts::int, due_amount::int as due, first_receipt_id::int as first, oldest_day::text as oldest
         from reporting.outstanding_by_phone order by 4`,
      ),
    ).toEqual([
      { patient_ids: ['p', 'q'], receipts: 2, due: 190, first: 2, oldest: '2026-03-01' },
      { patient_ids: ['r'], receipts: 1, due: 70, first: 7, oldest: '2026-03-01' },
    ]);
    expect(
      await database.rows(
        'select receipt_id::int as id, copy_number::int as copy, first_receipt_id::int as first from reporting.duplicate_receipts order by 1',
      ),
    ).toEqual([
      { id: 4, copy: 1, first: 4 },
      { id: 8, copy: 2, first: 4 },
    ]);
  });
});

it('an appointment is booked, begins and is completed when the callbacks say so', async () => {
  const visit = (appointment_id: string, at: number, data: object, event = 'statuschange') =>
    of(`appointment.${event}`, { appointment_id, ...data }, midnight + at);
  await apply(database, [
    receipt(1, { patient_oid: 'p', name: 'Asha', mobile: '98765' }),
    receipt(2, { patient_oid: 'p', created_at: midnight - 1, name: 'A' }),
    receipt(3, { patient_oid: 'p', name: 'Gone' }),
    receipt(3, {}, 'deleted'),
    visit(
      'a',
      0,
      { status: 'BK', patient_id: 'p', created_at: midnight - 3_600, start_time: midnight + 600 },
      'created',
    ),
    visit('a', 1_800, { status: 'CMNP', modified_at: midnight + 1_700 }),
    visit('a', 3_600, { status: 'CM', modified_at: midnight + 3_600 }),
    visit('a', 3_601, { partner_meta: {} }, 'updated'),
    visit('b', 0, { status: 'RES', start_time: midnight + 700 }),
    visit('c', 0, { status: 'NS' }),
    visit('c', 60, { partner_meta: {} }),
  ]);
  const at = (second: number) => new Date((midnight + second) * 1000);
  expect(
    await database.rows(
      `select appointment_id as id, day::text, booked_at, completed_at, starts_at, state from reporting.appointments order by 1`,
    ),
  ).toEqual([
    {
      id: 'a',
      day: '2026-03-01',
      booked_at: at(-3_600),
      completed_at: at(1_700),
      starts_at: at(600),
      state: 'completed',
    },
    {
      id: 'b',
      day: '2026-03-02',
      booked_at: at(0),
      completed_at: null,
      starts_at: at(700),
      state: 'rescheduled',
    },
    { id: 'c', day: '2026-03-02', booked_at: at(0), completed_at: null, starts_at: null, state: 'no_show' },
  ]);
  expect(
    await database.rows(
      'select appointment_id as id, day::text, patient_name, mobile from reporting.schedule',
    ),
  ).toEqual([{ id: 'a', day: '2026-03-02', patient_name: 'Asha', mobile: '98765' }]);
  expect(
    await database.rows(
      `select day::text, appointments::int as n, completed::int as done, no_show_share::float as share, completion_average_hours::float as hours
       from reporting.appointments_daily order by 1`,
    ),
  ).toEqual([
    { day: '2026-03-01', n: 1, done: 1, share: 0, hours: 1.47 },
    { day: '2026-03-02', n: 2, done: 0, share: 1, hours: null },
  ]);
});

it('an admission is open until its stage or status says otherwise, with what is due and still to be cleared', async () => {
  const part = (id: string) => ({ transaction_id: `ipd/b/admissions/${id}/clearances/x` });
  await apply(database, [
    of('ipd_admissions.created', {
      id: 'i',
      pid: 'p',
      totalbilled: 900,
      stage: 'ward',
      admission_date: evening,
    }),
    of('ipd_admissions.created', { id: 'j', status: 'Discharged' }),
    { ...of('ipd_admissions_clearances.created', { type: 'pharmacy', status: 'pending' }), ...part('i') },
    { ...of('ipd_admissions_estimates.created', { id: 'e', quantity: 2, rate: 40 }), ...part('i') },
  ]);
  expect(
    await database.rows(
      `select admission_id as id, day::text, patient_id as patient, due_amount::int as due, estimated_amount::int as estimated,
              open_clearances::int as n, open_clearance_types as types from reporting.open_admissions`,
    ),
  ).toEqual([{ id: 'i', day: '2026-03-01', patient: 'p', due: 900, estimated: 80, n: 1, types: 'pharmacy' }]);
});

it('deliveries are counted by what became of them, and rejected ones with them', async () => {
  await apply(
    database,
    [1, 2, 3].map((id) => receipt(id)),
  );
  await database.rows(`
    update receiver.inbox set received_at = to_timestamp(${evening});
    insert into receiver.pending_deliveries (id, family, next_at)
    select id, family, case record_id when '1' then 'infinity'::timestamptz else now() end from receiver.inbox where record_id < '3';
    insert into receiver.resends select id, 4, now() from receiver.inbox where record_id = '3';
    insert into receiver.quarantine (id, path, family, business_id, reason, errors, body, received_at)
    values (gen_random_uuid(), '/', 'receipt', 'b', 'invalid', '[]', '', to_timestamp(${evening}))`);
  expect(await database.rows('select *, day::text from reporting.deliveries_daily')).toEqual([
    {
      ...{
        business_id: 'b',
        family: 'receipt',
        day: '2026-03-01',
        received: '3',
        applied: '1',
        failed: '1',
        waiting: '1',
      },
      ...{ quarantined: '1', duplicates: '4', reconciled: '0' },
    },
  ]);
});

it('silence is out of the ordinary where callbacks were expected in the same part of the week', async () => {
  const arrivals = (business: string, hours: number[]) =>
    database.rows(
      `insert into receiver.inbox (id, family, event, client_id, business_id, record_id, version, event_time, subjects, envelope, received_at)
       select gen_random_uuid(), 'notice', 'vaccination.reminder', '', $1, gen_random_uuid(), '', now(), '{}', '{}', now() - h * interval '1 hour'
       from unnest($2::float[]) h`,
      [business, hours],
    );
  const range = (from: number, to: number, step = 1) =>
    Array.from({ length: Math.ceil((to - from) / step) }, (_, n) => from + n * step);
  await arrivals('hourly', range(10.5, 28 * 24));
  await arrivals(
    'closed now',
    range(10, 35 * 24).filter((hour) => hour % 168 >= 10),
  );
  await arrivals('daily', range(150, 40 * 24, 24));
  await arrivals('longer than a week', range(240, 240 + 28 * 24, 24));
  await arrivals('one whole week', range(10.5, 10.5 + 13.9 * 24));
  await arrivals('new', [20, 30, 50]);
  await arrivals('inactive', [91 * 24]);
  expect(
    await database.rows(
      'select business_id as b, expected_callbacks::float as n, out_of_the_ordinary as odd from reporting.silence order by 1',
    ),
  ).toEqual([
    { b: 'closed now', n: 0, odd: false },
    { b: 'daily', n: 6, odd: true },
    { b: 'hourly', n: 10, odd: true },
    { b: 'longer than a week', n: 10, odd: true },
    { b: 'new', n: null, odd: null },
    { b: 'one whole week', n: 10, odd: true },
  ]);
});

it('an outage is a gap of more than three minutes between the minutes in which callbacks could be taken', async () => {
  await database.rows(
    `insert into receiver.heartbeats select timestamptz '2026-03-01T18:20Z' + n * interval '1 minute' from unnest(array[0, 1, 4, 9, 10]) n`,
  );
  expect(await database.rows('select from_at, until_at, day::text, minutes from reporting.outages')).toEqual([
    {
      from_at: new Date('2026-03-01T18:24Z'),
      until_at: new Date('2026-03-01T18:29Z'),
      day: '2026-03-01',
      minutes: 5,
    },
  ]);
});
