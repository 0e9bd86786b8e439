import { receiptCallback } from '../../support/callbacks.ts';
import { useDatabase } from '../../support/database.ts';
import { apply } from '../../support/deliveries.ts';

const database = useDatabase();

it('receipts of the same patient, amount and day are listed together, and others and deleted ones are not', async () => {
  const at = Date.parse('2026-11-20T06:00:00Z');
  const receipt = (receipt_id: number, data: object = {}, event = 'receipt.created') =>
    receiptCallback({
      event,
      business_id: 'b',
      event_time: at / 1000 + receipt_id,
      data: { receipt_id, patient_oid: 'p', net_amount: 500, created_at: at + receipt_id * 1000, ...data },
    });
  await apply(database, [
    receipt(1),
    receipt(2),
    receipt(3, { net_amount: 501 }),
    receipt(4, { patient_oid: 'another' }),
    receipt(5, { created_at: at - 86_400_000 }),
    receipt(6, {}, 'receipt.deleted'),
    ...[7, 8].map((id) => receipt(id, { patient_oid: '' })),
    ...[9, 10].map((id) => receipt(id, { net_amount: 0 })),
  ]);
  const listed = (where: string) =>
    database.rows(`
      select receipt_id, copy_number, first_receipt_id from reporting.duplicate_receipts
      where ${where} order by receipt_id`);
  const both = [
    { receipt_id: '1', copy_number: '1', first_receipt_id: '1' },
    { receipt_id: '2', copy_number: '2', first_receipt_id: '1' },
  ];
  expect(await listed('true')).toEqual(both);
  expect(await listed(`business_id = 'b' and patient_id = 'p' and day = '2026-11-20'`)).toEqual(both);
  expect(await listed(`day = '2026-11-19'`)).toEqual([]);
});
