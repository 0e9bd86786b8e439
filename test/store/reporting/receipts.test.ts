import { receiptCallback } from '../../support/callbacks.ts';
import { useDatabase } from '../../support/database.ts';
import { apply, clear, seconds } from '../../support/deliveries.ts';

const database = useDatabase();
beforeEach(() => clear(database));

// Midnight in India is 18:30 UTC.
const firstDay = seconds('2024-03-01T18:29:59Z');
const nextDay = seconds('2024-03-01T18:30:00Z');

const receipt = (receipt_id: number, data: object, event = 'receipt.created', event_time: number = nextDay) =>
  receiptCallback({ event, event_time, data: { receipt_id, created_at: firstDay, ...data } } as never);

it('receipts contains the receipts that are not deleted, deleted_receipts the deleted ones', async () => {
  await apply(database, [
    receipt(1, { net_amount: 10.5, name: 'Asha', doctor_oid: 'd1', amount_paid: null }),
    receipt(2, { net_amount: 7 }),
    receipt(2, { net_amount: 7 }, 'receipt.deleted', nextDay + 60),
  ]);
  const columns = 'receipt_id, day::text, issued_at, doctor_id, name, net_amount, paid_amount, due_amount';
  expect(await database.rows(`select ${columns} from reporting.receipts`)).toEqual([
    {
      receipt_id: '1',
      day: '2024-03-01',
      issued_at: new Date('2024-03-01T18:29:59Z'),
      doctor_id: 'd1',
      name: 'Asha',
      net_amount: '10.5',
      paid_amount: null,
      due_amount: '90.05',
    },
  ]);
  expect(
    await database.rows('select receipt_id, deleted_at, net_amount from reporting.deleted_receipts'),
  ).toEqual([{ receipt_id: '2', deleted_at: new Date((nextDay + 60) * 1000), net_amount: '7' }]);
  expect(await database.rows('select receipt_id from reporting.all_receipts order by 1')).toHaveLength(2);
});

it('a receipt without created_at counts for the day of its event', async () => {
  await apply(database, [receipt(1, { created_at: null })]);
  expect(await database.rows('select day::text from reporting.receipts')).toEqual([{ day: '2024-03-02' }]);
});

it('receipts_daily has exact totals for each clinic, doctor and day, and counts deleted receipts separately', async () => {
  const amounts = (gross: number, item: number | null, additional: number, paid: number, due: number) => ({
    receipt_amount: gross,
    sku_discount_amount: item,
    additional_discount_amount: additional,
    net_amount: Number((gross - (item ?? 0) - additional).toFixed(2)),
    amount_paid: paid,
    amount_due: due,
    clinic_id: 'c1',
    doctor_oid: 'd1',
  });
  await apply(database, [
    receipt(1, amounts(0.1, null, 0, 0.1, 0)),
    receipt(2, amounts(0.2, 0.05, 0.05, 0, 0.1)),
    receipt(3, amounts(123456789012.34, 0.01, 0.02, 123456789012.3, 0.01)),
    receipt(4, amounts(1000, 0, 0, 1000, 0), 'receipt.deleted'),
    receipt(5, { ...amounts(50, 0, 0, 50, 0), created_at: nextDay }),
    receipt(6, { ...amounts(60, 0, 0, 60, 0), doctor_oid: 'd2', clinic_id: null }),
    receipt(7, { ...amounts(70, 0, 0, 70, 0), amount_paid: null }, 'receipt.created'),
  ]);
  expect(
    await database.rows(
      `select clinic_id, doctor_id, day::text, receipts, gross_amount, discount_amount, net_amount,
              paid_amount, due_amount, deleted_receipts, deleted_net_amount
       from reporting.receipts_daily order by day, doctor_id`,
    ),
  ).toEqual([
    {
      clinic_id: 'c1',
      doctor_id: 'd1',
      day: '2024-03-01',
      receipts: '4',
      gross_amount: '123456789082.64',
      discount_amount: '0.13',
      net_amount: '123456789082.51',
      paid_amount: '123456789012.4',
      due_amount: '0.11',
      deleted_receipts: '1',
      deleted_net_amount: '1000',
    },
    {
      clinic_id: null,
      doctor_id: 'd2',
      day: '2024-03-01',
      receipts: '1',
      gross_amount: '60',
      discount_amount: '0',
      net_amount: '60',
      paid_amount: '60',
      due_amount: '0',
      deleted_receipts: '0',
      deleted_net_amount: '0',
    },
    {
      clinic_id: 'c1',
      doctor_id: 'd1',
      day: '2024-03-02',
      receipts: '1',
      gross_amount: '50',
      discount_amount: '0',
      net_amount: '50',
      paid_amount: '50',
      due_amount: '0',
      deleted_receipts: '0',
      deleted_net_amount: '0',
    },
  ]);
});

it('outstanding_receipts contains receipts with an amount due, with their age in days, and no paid or deleted ones', async () => {
  const threeDaysAgo = Math.floor(Date.now() / 1000) - 3 * 86_400;
  await apply(database, [
    receipt(1, { amount_due: 0.01, created_at: threeDaysAgo }, 'receipt.created', threeDaysAgo),
    receipt(2, { amount_due: 0 }),
    receipt(3, { amount_due: null }),
    receipt(4, { amount_due: 5 }, 'receipt.deleted'),
  ]);
  expect(
    await database.rows(
      'select receipt_id, due_amount, days_outstanding from reporting.outstanding_receipts',
    ),
  ).toEqual([{ receipt_id: '1', due_amount: '0.01', days_outstanding: 3 }]);
});
