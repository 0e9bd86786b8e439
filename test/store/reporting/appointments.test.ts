import { appointment } from '../../../src/families/appointment.ts';
import { type Family, families } from '../../../src/families/index.ts';
import { appointmentCallback } from '../../support/callbacks.ts';
import { useDatabase } from '../../support/database.ts';
import { apply, clear, seconds } from '../../support/deliveries.ts';
import { type PlanNode, rowsRead } from '../../support/plans.ts';

const database = useDatabase();
beforeEach(() => clear(database));

// Midnight in India is 18:30 UTC.
const midnight = seconds('2024-03-01T18:30:00Z');
const hour = 3600;

const version = (event: string, event_time: number, data: object = {}) =>
  appointmentCallback({ event: `appointment.${event}`, event_time, data: { modified_at: null, ...data } });

it('shares have four digits and times two; of nothing they are null; rescheduled appointments are in no other share', async () => {
  const ofDay = (appointment_id: string, status: string, more = {}) =>
    version('created', midnight, { appointment_id, status, created_at: midnight, ...more });
  await apply(database, [
    ofDay('a1', 'CM', { modified_at: midnight + 100 }),
    ofDay('a2', 'CN'),
    ofDay('a3', 'BK'),
    ofDay('a4', 'CNS', { clinic_id: 'c2' }),
    ofDay('a5', 'NSD'),
    ofDay('a6', 'RES'),
    ofDay('a7', 'RE', { clinic_id: 'c3' }),
  ]);
  const columns = `appointments::int, completed_share, cancelled_share, no_show_share, rescheduled_share,
    without_prescription_share, completion_average_hours, completion_median_hours`;
  expect(
    await database.rows(
      `select ${columns} from reporting.appointments_daily order by appointments desc, clinic_id desc`,
    ),
  ).toEqual([
    {
      appointments: 5,
      completed_share: '0.2500',
      cancelled_share: '0.2500',
      no_show_share: '0.2500',
      rescheduled_share: '0.2000',
      without_prescription_share: '0.0000',
      completion_average_hours: '0.03',
      completion_median_hours: '0.03',
    },
    {
      appointments: 1,
      completed_share: null,
      cancelled_share: null,
      no_show_share: null,
      rescheduled_share: '1.0000',
      without_prescription_share: null,
      completion_average_hours: null,
      completion_median_hours: null,
    },
    {
      appointments: 1,
      completed_share: '0.0000',
      cancelled_share: '1.0000',
      no_show_share: '0.0000',
      rescheduled_share: '0.0000',
      without_prescription_share: null,
      completion_average_hours: null,
      completion_median_hours: null,
    },
  ]);
});

it('an appointment is completed when its first completing version was made, also where that came last', async () => {
  await apply(database, [
    version('updated', midnight + 9 * hour, { status: 'CM', modified_at: midnight + 9 * hour }),
  ]);
  await apply(database, [version('statuschange', midnight + 2 * hour, { status: 'CMNP' })]);
  await apply(database, [version('created', midnight, { status: 'BK' })]);
  const completed = () =>
    database.rows('select completed_at, status, state, day::text from reporting.appointments');
  expect(await completed()).toEqual([
    {
      completed_at: new Date((midnight + 2 * hour) * 1000),
      status: 'CM',
      state: 'completed',
      day: '2023-11-15',
    },
  ]);
  await apply(database, [version('updated', midnight + 10 * hour, { status: 'OG' })]);
  expect(await completed()).toMatchObject([{ completed_at: null, state: 'ongoing' }]);
});

it.each([
  ['BK', 'booked'],
  ['OG', 'ongoing'],
  ['CM', 'completed'],
  ['CMNP', 'completed_without_prescription'],
  ['CN', 'cancelled_by_patient'],
  ['CND', 'cancelled_by_doctor'],
  ['CNS', 'cancelled_by_staff'],
  ['CK', 'booked'],
  ['RV', 'booked'],
  ['IN', 'booked'],
  ['PA', 'booked'],
  ['AB', 'aborted'],
  ['NS', 'no_show'],
  ['NSD', 'no_show'],
  ['NSS', 'no_show'],
  ['PC', 'cancelled_by_patient'],
  ['PNR', 'cancelled_unpaid'],
  ['RE', 'rescheduled'],
  ['RED', 'rescheduled'],
  ['RES', 'rescheduled'],
  ['made up', 'other'],
  [null, 'other'],
])('the state of the status %s is %s', async (status, state) => {
  await apply(database, [version('created', midnight, { status })]);
  expect(await database.rows('select state from reporting.appointments')).toEqual([{ state }]);
});

it('every documented status has a state', async () => {
  const { knownValues } = appointment.fields.status;
  const unknown = `select status from unnest($1::text[]) as status where reporting.appointment_state(status) = 'other'`;
  expect(knownValues).toHaveLength(20);
  expect(await database.rows(unknown, [knownValues])).toEqual([]);
});

it('versions with equal times are in the order of their family’s events', async () => {
  for (const { events, versions: kept } of families as readonly Family[]) {
    if (!kept) continue;
    const ranked = `select array_agg(event order by version_key_of(event, '2026-01-01', null, null, '${'0'.repeat(32)}') collate "C") as events
       from unnest($1::text[]) as event`;
    expect(await database.rows(ranked, [events.toReversed()])).toEqual([{ events }]);
  }
});

it('versions are read only for completed_at', async () => {
  const plan = async (columns: string) =>
    JSON.stringify(
      await database.rows(`explain select ${columns} from reporting.appointments where business_id = 'b'`),
    );
  expect(await plan('booked_at, state')).not.toContain('appointment_versions');
  expect(await plan('completed_at')).toContain('appointment_versions');
});

it('a condition on business and day reads the appointments of that day alone, and their versions', async () => {
  const columns =
    'business_id, appointment_id, status, client_id, last_event, event_time, extra, delivery_id';
  const fill = (table: string, status: string) => `
    insert into ${table} (${columns}, received_at, applied_at)
    select 'b' || n % 2, 'a' || n, '${status}', 'c', 'appointment.created',
           timestamptz '2024-01-01' + n * interval '1 hour', '{}', gen_random_uuid(), now(), now()
    from generate_series(1, 6000) as n;
    analyze ${table};`;
  await database.pool.query(fill('appointments', 'CM') + fill('appointment_versions', 'BK'));
  await database.pool.query(`update appointments set status = 'CMNP' where appointment_id = 'a1445'`);
  const [row] = await database.rows(
    `explain (analyze, format json)
     select * from reporting.appointments_daily where business_id = 'b1' and day = '2024-03-01'`,
  );
  const plan = (row!['QUERY PLAN'] as { Plan: PlanNode }[])[0]!.Plan;
  expect(JSON.stringify(plan)).toContain('appointment_versions');
  expect(rowsRead(plan, 'Scan')).toBeLessThan(100);
});
