import { appointmentCallback, receiptCallback, samples } from '../support/callbacks.ts';
import { apply, setTimes } from '../support/deliveries.ts';
import { listedAppointments } from '../support/listed-appointments.ts';
import { useReconciliation } from './use-reconciliation.ts';

const { database, pass } = useReconciliation();

const at = Date.parse('2026-06-10T06:30:00Z') / 1000;
const time = { created_at: at, updated_at: at, modified_at: at };
const receipt = (receipt_id: number, aid: string, more: object = {}, event = 'receipt.created') =>
  receiptCallback({ event, event_time: at, data: { receipt_id, aid, ...time, payment_link: '', ...more } });
const request = (appointment_id: string, url = '') =>
  samples.payment_request({ event_time: at, data: { appointment_id, url, net_amount: 100.5 } });
const appointment = (appointment_id: string, more: object = {}) =>
  appointmentCallback({ event_time: at, data: { appointment_id, ...time, ...more } });
const paid = { payment: { payment_id: 'p', payment_status: 'PAYMENT_SUCCESS', amount: 20 } };

const suspected = () =>
  database.rows(`
    select day::text, named_by, appointment_id, receipt_id::int, receipt_amount as amount
    from reporting.suspected_receipts order by named_by, appointment_id`);

/** Receipts have come since the beginning of the year. */
async function receivedBefore() {
  await apply(database, [receipt(1, 'other', { created_at: at - 86_400 * 100 })]);
  const earlier = `'2026-01-01'::timestamptz`;
  await setTimes(database, { received_at: earlier, applied_at: earlier });
  await database.rows(`update receipts set received_at = ${earlier}`);
}

it('a receipt that a request, a payment or a later version names, and that never came, is suspected', async () => {
  await receivedBefore();
  await apply(database, [
    request('asked'),
    appointment('paid', paid),
    receipt(3, 'updated', {}, 'receipt.updated'),
  ]);
  const day = '2026-06-10';
  expect(await suspected()).toEqual([
    { day, named_by: 'appointment', appointment_id: 'paid', receipt_id: null, amount: '20' },
    { day, named_by: 'later_version', appointment_id: 'updated', receipt_id: 3, amount: '490.05' },
    { day, named_by: 'payment_request', appointment_id: 'asked', receipt_id: null, amount: '100.5' },
  ]);
});

it('what has its receipt is not suspected, also by a rescheduled appointment or the page for paying', async () => {
  await receivedBefore();
  await apply(database, [
    request('asked'),
    receipt(2, 'asked'),
    appointment('first', { ...paid, next_aid: 'second' }),
    appointment('second', { prev_aids: ['first'] }),
    receipt(3, 'second'),
    receipt(3, 'second', { updated_at: at + 1 }, 'receipt.updated'),
    request('without an appointment', 'https://pay.invalid/7'),
    receipt(4, '', { payment_link: 'https://pay.invalid/7' }),
    appointment('not paid', { payment: { payment_id: 'q', payment_status: 'PENDING' } }),
    request(''),
  ]);
  expect(await suspected()).toEqual([]);
});

it('nothing is suspected of the time before the first receipt, nor of the last hour', async () => {
  await apply(database, [request('asked'), receipt(3, 'updated', {}, 'receipt.updated')]);
  expect(await suspected()).toEqual([]);
  await receivedBefore();
  const now = Math.floor(Date.now() / 1000);
  await apply(database, [samples.payment_request({ event_time: now, data: { appointment_id: 'just now' } })]);
  expect(await suspected()).toHaveLength(2);
});

it('a pass counts suspected receipts; other days of receipts are unverifiable', async () => {
  const completeness = () =>
    database.rows(`
      select day::text, method, missing_found::int as missing from reporting.completeness
      where family = 'receipt' and day < '2026-07-01' order by day`);
  await receivedBefore();
  await apply(database, [request('asked'), request('asked too', 'https://pay.invalid/2')]);
  const before = [{ day: '2026-01-01', method: 'unverifiable', missing: 0 }];
  expect(await completeness()).toEqual(before);
  await pass(listedAppointments());
  expect(await completeness()).toEqual([...before, { day: '2026-06-10', method: 'inferred', missing: 2 }]);
  await apply(database, [receipt(2, 'asked')]);
  await pass(listedAppointments());
  expect(await completeness()).toMatchObject([...before, { missing: 1 }]);
  await apply(database, [receipt(3, 'asked too')]);
  await pass(listedAppointments());
  expect(await completeness()).toEqual(before);
});
