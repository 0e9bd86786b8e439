import { families } from '../../src/families/index.ts';
import { deleteDeliveries } from '../../src/privacy/delete-deliveries.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { readPatient } from '../support/held.ts';
import { useFollowUps } from './use-follow-ups.ts';

const { database, payments, followUp, receipts, numberOf } = useFollowUps();

const answers = { a: { payment_status: 'PAYMENT_SUCCESS', rrn: 'bank-1' }, b: { payment_status: 'PENDING' } };
const id = 'patient-erased';
const erase = (keepMs = 0) =>
  erasePatient(database.db, families, { id }, { actor: { id: 'test' }, keepMs, keepsTotals: true });

it('payments are erased with the receipts of their patient, and withheld like them', async () => {
  await receipts(['a'], { patient_oid: id });
  await receipts(['b'], { receipt_id: 9 });
  await followUp(payments(answers));
  await erase(86_400_000);
  expect(await database.rows('select payment_id from payments order by 1')).toEqual([{ payment_id: 'b' }]);
  expect(
    await database.rows(
      `select content->>'rrn' as rrn from withheld.records where source = 'receipt_payments'`,
    ),
  ).toEqual([{ rrn: 'bank-1' }]);
});

it('an export has the payments of a patient', async () => {
  await receipts(['a'], { patient_oid: id });
  await receipts(['b'], { receipt_id: 9 });
  await followUp(payments(answers));
  const { counts, data } = await readPatient(database, families, { id });
  expect(counts).toMatchObject({ receipts: 1, receipt_payments: 1 });
  expect(data.receipt_payments).toMatchObject([{ columns: { payment_id: 'a', rrn: 'bank-1' } }]);
});

it('an answer about an erased receipt is not written', async () => {
  await receipts(['a'], { patient_oid: id });
  const platform = payments(answers);
  const { payment } = platform.platform;
  platform.platform.payment = async (one) => {
    await erase();
    return payment(one);
  };
  await followUp(platform);
  expect(await numberOf('payments')).toBe(0);
});

it('payments go with the deletion of their receipt, also where its newest version names another', async () => {
  const [first] = await receipts(['a']);
  await followUp(payments(answers));
  const [second] = await apply(database, [
    receiptCallback({
      event: 'receipt.updated',
      event_time: 1_700_000_100,
      data: { receipt_id: 1, payment_id: 'b' },
    }),
  ]);
  await followUp(payments(answers));
  expect(await numberOf('payments')).toBe(2);
  await deleteDeliveries(database.db, families, [first!, second!], 'deleted');
  expect(await numberOf('payments')).toBe(0);
});
