import { receiptCallback } from '../../support/callbacks.ts';
import { useDatabase } from '../../support/database.ts';
import { apply, clear } from '../../support/deliveries.ts';
import { type PlanNode, rowsRead } from '../../support/plans.ts';
import { appointment, day, midnight, readChains, readVisits } from './rescheduled.ts';

const database = useDatabase();
beforeEach(() => clear(database));

const visits = (columns: string) => readVisits(database, columns);
const chains = () => readChains(database);

it('a visit has the day of its first appointment, all else of its last, and the receipts of any', async () => {
  const receipt = (receipt_id: number, aid: string, net: number, due: number, event = 'receipt.created') =>
    receiptCallback({
      event,
      business_id: 'b1',
      data: { receipt_id, aid, net_amount: net, amount_paid: net - due, amount_due: due },
    });
  await apply(database, [
    appointment('a1', 0, { status: 'RES', next_aid: 'a2', doctor_id: 'd1' }),
    appointment('a2', 1, { status: 'RED', prev_aids: ['a1'], doctor_id: 'd1' }),
    appointment('a3', 5, {
      status: 'CM',
      prev_aids: ['a2'],
      doctor_id: 'd2',
      clinic_id: 'c3',
      patient_id: 'p1',
    }),
    appointment('b', 2, { status: 'NS', doctor_id: 'd1' }),
    receipt(1, 'a1', 5, 1),
    receipt(2, 'a3', 7.5, 0),
    receipt(3, 'a2', 100, 0, 'receipt.deleted'),
    receipt(4, 'elsewhere', 9, 0),
  ]);
  const columns = `visit_id, day::text, first_appointment_id, first_booked_at, booked_at, reschedules, status, state, clinic_id, doctor_id,
    patient_id, receipts::int, net_amount, paid_amount, due_amount, completed_at is not null as is_completed`;
  const [a, b] = await visits(columns);
  expect(a).toEqual({
    visit_id: 'a3',
    day: '2024-03-02',
    first_appointment_id: 'a1',
    first_booked_at: new Date(midnight * 1000),
    booked_at: new Date((midnight + 5 * day) * 1000),
    reschedules: 2,
    status: 'CM',
    state: 'completed',
    clinic_id: 'c3',
    doctor_id: 'd2',
    patient_id: 'p1',
    receipts: 2,
    net_amount: '12.5',
    paid_amount: '11.5',
    due_amount: '1',
    is_completed: true,
  });
  expect(b).toMatchObject({
    visit_id: 'b',
    first_appointment_id: 'b',
    day: '2024-03-04',
    reschedules: 0,
    state: 'no_show',
    receipts: 0,
    net_amount: '0',
  });
});

it('appointments that did not arrive connect others, and are counted', async () => {
  await apply(database, [
    appointment('a1', 0, { next_aid: 'a2' }),
    appointment('a3', 2, { prev_aids: ['a2'] }),
    appointment('b', 0, { next_aid: 'unknown' }),
  ]);
  expect(await chains()).toEqual([
    { visit_id: 'a3', first: 'a1', reschedules: 2 },
    { visit_id: 'b', first: 'b', reschedules: 1 },
  ]);
});

it('links of one business are none of another', async () => {
  await apply(database, [
    appointment('a1', 0, { next_aid: 'a2' }),
    { ...appointment('a2', 1), business_id: 'b2' },
  ]);
  const rows = await database.rows('select business_id, visit_id from reporting.visits order by 1');
  expect(rows).toEqual([
    { business_id: 'b1', visit_id: 'a1' },
    { business_id: 'b2', visit_id: 'a2' },
  ]);
});

it('each appointment of a chain of more than a hundred is a visit of its own', async () => {
  const many = Array.from({ length: 101 }, (_, n) => appointment(`a${n}`, n, { next_aid: 'hub' }));
  await apply(database, many);
  const [found] = await visits('count(*) over ()::int as visits, reschedules');
  expect(found).toEqual({ visits: 101, reschedules: 0 });
});

it('a condition on business and day reads the appointments of that day and what they are linked to', async () => {
  await database.pool.query(`
    insert into appointments (business_id, appointment_id, status, client_id, last_event, event_time, extra, delivery_id,
                              received_at, applied_at, next_aid)
    select 'b1', 'a' || n, 'CM', 'c', 'appointment.created', timestamptz '2024-01-01' + n * interval '1 hour', '{}',
           gen_random_uuid(), now(), now(), case when n % 10 = 0 then to_jsonb('a' || n + 1) end
    from generate_series(1, 6000) as n;
    insert into receipts (business_id, receipt_id, aid, net_amount, client_id, last_event, event_time, extra, delivery_id,
                          received_at, applied_at)
    select 'b1', n, 'a' || n, 1, 'c', 'receipt.created', timestamptz '2024-01-01' + n * interval '1 hour', '{}',
           gen_random_uuid(), now(), now()
    from generate_series(1, 6000) as n`);
  for (const table of ['appointments', 'appointment_links', 'receipts'])
    await database.pool.query(`vacuum analyze ${table}`);
  const plan = async (columns: string) => {
    const [row] = await database.rows(
      `explain (analyze, format json) select ${columns} from reporting.visits where business_id = 'b1' and day = '2024-03-01'`,
    );
    return (row!['QUERY PLAN'] as { Plan: PlanNode }[])[0]!.Plan;
  };
  const all = await plan('*');
  expect(all['Actual Rows']).toBeGreaterThan(20);
  // Of 12,000. Links, a few bytes each, are compared with the appointments at once.
  expect(rowsRead(all, 'Scan') - 2 * 600).toBeLessThan(400);
  const few = JSON.stringify(await plan('visit_id, state'));
  expect(few).not.toMatch(/receipts|appointment_versions/);
});
