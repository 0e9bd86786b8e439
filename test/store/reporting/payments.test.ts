import fc from 'fast-check';
import { appointmentCallback, receiptCallback, samples } from '../../support/callbacks.ts';
import { useDatabase } from '../../support/database.ts';
import { apply, clear, seconds } from '../../support/deliveries.ts';
import { type PlanNode, rowsRead } from '../../support/plans.ts';

const database = useDatabase();
beforeEach(async () => {
  await clear(database, 'erased_receipts');
});

const noon = seconds('2024-03-01T06:30:00Z');
const day = 86_400;

const receipt = (receipt_id: number, aid: string | null, data: object = {}, event = 'receipt.created') =>
  receiptCallback({
    event,
    event_time: noon,
    business_id: 'b1',
    data: { receipt_id, aid, created_at: noon, ...data },
  });
const request = (appointment_id: string | null, net_amount: number, event_time = noon) =>
  samples.payment_request({ event_time, business_id: 'b1', data: { appointment_id, net_amount } });
const appointment = (appointment_id: string, business_id = 'b1') =>
  appointmentCallback({
    business_id,
    data: { appointment_id, doctor_id: 'd1', clinic_id: 'c1', patient_id: 'p1', status: 'CM' },
  });

const amounts = (net: number, paid: number | null, due: number) => ({
  net_amount: net,
  amount_paid: paid,
  amount_due: due,
});

it('appointment_payments has what was billed, requested and paid for an appointment, on each day', async () => {
  await apply(database, [
    appointment('a1'),
    appointment('a2', 'b2'),
    receipt(1, 'a1', amounts(0.1, 0.1, 0)),
    receipt(2, 'a1', amounts(0.2, null, 0.15)),
    receipt(3, 'a1', { ...amounts(7, 7, 0), created_at: noon + day }),
    receipt(4, 'a1', amounts(1000, 1000, 0), 'receipt.deleted'),
    receipt(5, 'a2', amounts(5, 0, 5)),
    receipt(6, null, amounts(8, 8, 0)),
    receipt(7, '', amounts(9, 9, 0)),
    request('a1', 0.3, noon + 1),
    request('a1', 0.3, noon + 2),
    request('a3', 4),
  ]);
  await database.pool.query(
    `insert into erased_receipts (business_id, day, is_deleted, net_amount, amount_paid, amount_due)
     values ('b1', '2024-03-01', false, 10, 9, 1), ('b1', '2024-03-01', true, 70, 0, 70)`,
  );
  const known = { clinic_id: 'c1', doctor_id: 'd1', patient_id: 'p1', status: 'CM' };
  const unknown = { clinic_id: null, doctor_id: null, patient_id: null, status: null };
  const figures = (
    receipts: number,
    requests: number,
    billed: string,
    requested: string,
    paid: string,
    due: string,
  ) => ({
    receipts: String(receipts),
    payment_requests: String(requests),
    billed_amount: billed,
    requested_amount: requested,
    paid_amount: paid,
    due_amount: due,
  });
  expect(
    await database.rows(
      `select appointment_id, day::text, clinic_id, doctor_id, patient_id, status, receipts, payment_requests,
              billed_amount, requested_amount, paid_amount, due_amount
       from reporting.appointment_payments where business_id = 'b1' order by 1, 2`,
    ),
  ).toEqual([
    { appointment_id: 'a1', day: '2024-03-01', ...known, ...figures(2, 2, '0.3', '0.6', '0.1', '0.15') },
    { appointment_id: 'a1', day: '2024-03-02', ...known, ...figures(1, 0, '7', '0', '7', '0') },
    { appointment_id: 'a2', day: '2024-03-01', ...unknown, ...figures(1, 0, '5', '0', '0', '5') },
    { appointment_id: 'a3', day: '2024-03-01', ...unknown, ...figures(0, 1, '0', '4', '0', '0') },
    { appointment_id: null, day: '2024-03-01', ...unknown, ...figures(3, 0, '27', '0', '26', '1') },
  ]);
});

const paise = fc.option(fc.integer({ min: 0, max: 9999 }).map((n) => n / 100));

it('the amounts of a day in appointment_payments are those in receipts_daily, for any receipts', async () => {
  const payments = fc.array(
    fc.oneof(
      fc
        .record({
          receipt_id: fc.nat(20),
          aid: fc.constantFrom('a1', 'a2', '', null),
          net_amount: paise,
          amount_paid: paise,
          amount_due: paise,
          created_at: fc.integer({ min: 0, max: 2 }).map((days) => noon + days * day),
          event: fc.constantFrom('receipt.created', 'receipt.updated', 'receipt.deleted'),
        })
        .map(({ event, receipt_id, aid, ...data }) => receipt(receipt_id, aid, data, event)),
      fc.nat(99).map((net) => request('a1', net)),
      fc.constant(appointment('a1')),
    ),
    { minLength: 1, maxLength: 20 },
  );
  const erased = fc.array(fc.tuple(fc.boolean(), paise, paise));
  const totals = (view: string, billed: string) =>
    database.rows(
      `select day::text, sum(receipts)::int as receipts, sum(${billed})::float as billed,
              sum(paid_amount)::float as paid, sum(due_amount)::float as due
       from reporting.${view} group by day having sum(receipts) > 0 order by day`,
    );
  await fc.assert(
    fc.asyncProperty(payments, erased, async (callbacks, rows) => {
      await clear(database, 'erased_receipts');
      await apply(database, callbacks);
      for (const row of rows) {
        await database.pool.query(
          `insert into erased_receipts (business_id, day, is_deleted, net_amount, amount_due)
           values ('b1', '2024-03-01', $1, $2, $3)`,
          row,
        );
      }
      expect(await totals('appointment_payments', 'billed_amount')).toEqual(
        await totals('receipts_daily', 'net_amount'),
      );
    }),
    { numRuns: 15 },
  );
});

it('a condition on business and day reads the receipts of that day alone', async () => {
  await database.pool.query(
    `insert into receipts (business_id, receipt_id, aid, net_amount, client_id, last_event, event_time, extra,
                           delivery_id, received_at, applied_at)
     select 'b' || n % 2, n, 'a' || n, 1, 'c', 'receipt.created', timestamptz '2024-01-01' + n * interval '1 hour', '{}',
            gen_random_uuid(), now(), now()
     from generate_series(1, 6000) as n`,
  );
  await database.pool.query('vacuum analyze receipts, payment_requests, appointments, erased_receipts');
  const [row] = await database.rows(
    `explain (analyze, format json)
     select * from reporting.appointment_payments where business_id = 'b1' and day = '2024-03-01'`,
  );
  const plan = (row!['QUERY PLAN'] as { Plan: PlanNode }[])[0]!.Plan;
  expect(plan['Actual Rows']).toBe(12);
  // Of 6,000.
  expect(rowsRead(plan, 'Scan')).toBeLessThan(120);
});
