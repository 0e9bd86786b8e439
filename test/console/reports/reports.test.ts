import { formatAmount } from '../../../src/common/words.ts';
import { apply } from '../../db/apply.ts';
import { receiptCallback, samples } from '../../support/callbacks.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';
import { openApp, type Visitor, visitAs } from '../support.ts';

const database = useReceiverDatabase();
const now = Math.floor(Date.now() / 1000);
const receipt = (receipt_id: number, data: object, event = 'receipt.created') =>
  receiptCallback({
    event,
    event_time: now,
    data: { receipt_id, created_at: now, clinic_id: 'c-1', ...data },
  });

let desk: Visitor;
beforeAll(async () => {
  await apply(database, [
    receipt(1, { net_amount: 700, receipt_status: 'SUCCESS' }),
    receipt(2, { net_amount: 90_000, receipt_status: 'Failed', receipt_number: 'F-2' }),
    receipt(3, { net_amount: 5_000 }),
    { ...receipt(3, {}, 'receipt.deleted'), event_time: now + 1, data: { receipt_id: 3 } },
    { ...receipt(4, { net_amount: 11 }), event_time: now - 500 * 86_400 },
    samples.admission({ event_time: now - 500 * 86_400, data: { admission_date: now - 500 * 86_400 } }),
  ]);
  desk = await visitAs(openApp(database).app, database, ['desk']);
});

/** What the page shows in its row Total. */
const totalOf = (html: string) =>
  (/<tfoot>.*<\/tfoot>/s.exec(html)?.[0].match(/-?₹[\d,.]+/g) ?? []).sort().join(' ');

it.each([
  ['receipts', '₹700.00', 2, 'failed'],
  ['all_receipts', '₹700.00', 3, 'deleted or failed'],
  ['receipts_as_of', '₹700.00', 3, 'deleted or failed'],
  ['deleted_receipts', '₹5,000.00', 1, undefined],
])('%s lists failed receipts, and its totals leave them out', async (view, total, rows, others) => {
  const { text } = await desk.get(`/reports/${view}?range=today`).expect(200);
  expect(totalOf(text)).toContain(total);
  expect(totalOf(text)).not.toContain('90,');
  expect(text).toContain(`${rows} row`);
  if (others) expect(text).toContain(`of them, ${others}, are in no total`);
});

it('failed receipts are listed alone', async () => {
  const { text } = await desk.get('/reports/receipts?status=failed').expect(200);
  expect(text).toContain('F-2');
  expect(text).toContain('Failed');
  expect(text).toContain('₹90,000.00');
  expect(text).not.toContain('₹700.00');
  expect(totalOf(text)).toBe('');
});

it.each([
  ['receipts', 'clinic=Jaynagar', 'No clinic is called Jaynagar.'],
  ['receipts_daily', 'doctor=Dr%20No', 'No doctor is called Dr No.'],
  ['businesses_daily', 'business=Sunrice', 'No business is called Sunrice.'],
  ['open_admissions', 'clinic=Jaynagar', 'No clinic is called Jaynagar.'],
  ['receipts', 'from=2030-01-01', 'This day is yet to come.'],
  ['receipts', 'from=2026-02-02&to=2026-02-01', 'This is before 2 Feb 2026.'],
])('%s?%s is answered with what is wrong, and with no sum', async (view, query, message) => {
  const { text } = await desk.get(`/reports/${view}?${query}`).expect(400);
  expect(text).toContain(message);
  expect(text).not.toContain('₹');
  expect(text).not.toContain('1 Jan 2030 to');
  await desk.get(`/reports/${view}/csv?${query}`).expect(400);
});

it('a clinic, doctor or business that some record or name has is a filter, also without rows', async () => {
  await database.rows(
    `insert into receiver.aliases (kind, id, alias, updated_by) values ('clinic', 'c-9', 'Lakeside', 'x')`,
  );
  for (const query of ['clinic=c-1', 'clinic=lakeside', 'clinic=c-9', 'doctor=doctor-1', 'business='])
    for (const view of ['receipts', 'admissions']) await desk.get(`/reports/${view}?${query}`).expect(200);
});

it('the days from one on are those until today, whatever the range was', async () => {
  const day = new Date(now * 1000 - 86_400_000).toISOString().slice(0, 10);
  const { text } = await desk.get(`/reports/receipts?range=last_month&from=${day}`).expect(200);
  expect(text).toContain('2 rows');
});

it('a page behind the last one leads to the last one', async () => {
  await desk
    .get('/reports/receipts?range=today&page=49')
    .expect(303)
    .expect('Location', '/console/reports/receipts?range=today&page=1');
});

it('open admissions are shown however long ago they began', async () => {
  const { text } = await desk.get('/reports/open_admissions').expect(200);
  expect(text).toContain('1 row.');
});

it.each([
  ['450.5', '₹450.50'],
  ['100.005', '₹100.01'],
  ['0.00499999999999999999', '₹0.00'],
  ['-0.001', '₹0.00'],
  ['-12', '-₹12.00'],
  ['123456.005000000000000000000000000001', '₹1,23,456.01'],
])('an amount of %s is shown as %s', (value, shown) => {
  expect(formatAmount(value)).toBe(shown);
});
