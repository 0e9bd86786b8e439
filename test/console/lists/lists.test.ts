import { strFromU8, unzipSync } from 'fflate';
import { formatAmount } from '../../../src/common/words.ts';
import { listNamed, lists } from '../../../src/console/lists/definitions.ts';
import { maxCounted, readTotals } from '../../../src/console/lists/query.ts';
import { apply } from '../../db/apply.ts';
import { receiptCallback, samples } from '../../support/callbacks.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';
import { makeItNoon, openApp, textOf, type Visitor, visitAs } from '../support.ts';

const database = useReceiverDatabase();
const now = Math.floor(Date.now() / 1000);
const receipt = (receipt_id: number, data: object, event = 'receipt.created') =>
  receiptCallback({
    event,
    event_time: now,
    data: { receipt_id, created_at: now, clinic_id: 'c-1', ...data },
  });

let desk: Visitor;
let officer: Visitor;
const payment_link = `https://pay.invalid/${'x'.repeat(400)}`;
const unpaid = { net_amount: 1, amount_paid: 0, amount_due: 1, payment_link };
beforeAll(async () => {
  const reportTimezone = await makeItNoon(database);
  await apply(database, [
    receipt(1, { net_amount: 700, amount_paid: 300, amount_due: 400, receipt_status: 'SUCCESS' }),
    receipt(2, { net_amount: 90_000, receipt_status: 'Failed', receipt_number: 'F-2' }),
    receipt(3, { net_amount: 5_000, receipt_number: 'D-3', created_at: now - 40 * 86_400 }),
    { ...receipt(3, {}, 'receipt.deleted'), event_time: now + 1, data: { receipt_id: 3 } },
    { ...receipt(4, { net_amount: 11, created_at: now - 500 * 86_400 }), event_time: now - 500 * 86_400 },
    { ...receipt(5, { ...unpaid, created_at: now - 50 * 86_400 }), business_id: 'other' },
    samples.admission({ event_time: now - 500 * 86_400, data: { admission_date: now - 500 * 86_400 } }),
  ]);
  const { app } = openApp(database, { reportTimezone });
  desk = await visitAs(app, database, ['desk']);
  officer = await visitAs(app, database, ['privacy']);
});

/** The numbers above the rows. */
const sumsOf = (html: string) =>
  [.../<ul class="sums">.*?<\/ul>/s.exec(html)![0].matchAll(/<b>(.*?)<\/b>/g)]
    .map(([, sum]) => sum)
    .join(' ');

it.each(lists.map(({ name }) => name))('%s opens for all days, and as a file', async (name) => {
  const list = listNamed(name);
  await officer.get(`/${name}?range=all`).expect(200);
  const { text } = await officer.get(`/${name}/csv?range=all`).expect(200);
  for (const column of [...list.columns, ...list.also])
    expect(text.split('\r\n')[0]!.split(',')).toContain(column);
  await officer.get(`/${name}/xlsx?range=all`).expect(200);
});

it('a link is whole, however long it is', async () => {
  const { text } = await desk.get('/unpaid').expect(200);
  expect(text).toContain(`href="${payment_link}"`);
});

it('links of Takings keep the places that are chosen', async () => {
  const { text } = await desk.get('/takings?clinic=c-1').expect(200);
  expect(text).toMatch(/\/payments\?clinic=c-1&amp;from=/);
  const { text: doctors } = await desk.get('/takings-by-doctor?clinic=c-1').expect(200);
  expect(doctors).toMatch(/\/payments\?clinic=c-1&amp;range=this_month&amp;doctor=/);
});

it('takings of doctors are compared with as many days before, also of one of whom nothing came', async () => {
  const at = now - 600 * 86_400;
  const paid = (receipt_id: number, doctor_oid: string, amount_paid: number, event_time = at) => ({
    ...receipt(receipt_id, { doctor_oid, net_amount: 100, amount_paid, created_at: event_time }),
    event_time,
  });
  await apply(database, [
    ...[paid(31, 'gone', 50, at - 86_400), paid(32, 'here', 40, at - 86_400)],
    ...[paid(33, 'here', 65), paid(34, 'here', 0)],
  ]);
  const [row] = await database.rows('select reporting.day(to_timestamp($1))::text as day', [at]);
  const { text } = await desk.get(`/takings-by-doctor?from=${row!.day}&to=${row!.day}`).expect(200);
  expect(sumsOf(text)).toBe('2 ₹65 ₹0 2 ₹200 ₹135');
  expect(textOf(text)).toContain('collected, −28 % against');
  expect(textOf(text)).toMatch(/here ₹65 – 2 ₹200 ₹135 ₹40 \+63 % gone ₹0 [– ]+ ₹50 −100 %/);
});

it('what was paid too much takes nothing from what is due: in Receipts, Unpaid and Excel', async () => {
  const days = [60, 61].map((days) => now - days * 86_400);
  await apply(database, [
    receipt(60, { net_amount: 100, amount_paid: 150, created_at: days[0], clinic_id: 'c-60' }),
    receipt(61, { net_amount: 80, amount_paid: 50, created_at: days[1], clinic_id: 'c-60' }),
  ]);
  const query = '?range=all&clinic=c-60';
  const sums = async (path: string) => sumsOf((await desk.get(`${path}${query}`).expect(200)).text);
  expect(await sums('/receipts')).toBe('2 ₹180 ₹200 ₹30');
  expect(await sums('/unpaid')).toMatch(/₹30$/);
  const { body } = await desk.get(`/receipts/xlsx${query}`).responseType('blob');
  const sheet = strFromU8(unzipSync(body)['xl/worksheets/sheet1.xml']!);
  expect(sheet).toContain('-₹50');
  expect(sheet).toMatch(/SUBTOTAL\([^)]*\)<\/f><v>30<\/v>/);
});

it('a failed receipt is listed by itself, and in no sum', async () => {
  const { text } = await desk.get('/receipts?range=today').expect(200);
  expect(sumsOf(text)).toBe('1 ₹700 ₹300 ₹400');
  expect(text).toContain('/failed?range=today');
  expect(text).not.toContain('F-2');
  const failed = await desk.get('/failed?range=today').expect(200);
  expect(failed.text).toContain('F-2');
  expect(sumsOf(failed.text)).toBe('1');
  expect((await desk.get('/receipts?state=part_paid').expect(200)).text).toContain('₹700');
});

it('a deleted receipt is listed on the day on which it was deleted', async () => {
  const { text } = await desk.get('/deleted?range=today').expect(200);
  expect(text).toContain('D-3');
  expect(sumsOf(text)).toContain('1 ₹5,000');
  expect((await desk.get('/receipts?range=all').expect(200)).text).not.toContain('D-3');
});

it.each([
  ['receipts', 'from=2030-01-01', 'This day is yet to come.'],
  ['receipts', 'from=2026-02-02&to=2026-02-01', '1 Feb 2026 is before 2 Feb 2026.'],
  ['takings', 'from=2030-01-01', 'This day is yet to come.'],
])('%s?%s is answered with what is wrong, and with no sum', async (name, query, message) => {
  const { text } = await desk.get(`/${name}?${query}`).expect(400);
  expect(text).toContain(message);
  expect(text).not.toContain('₹');
  await desk.get(`/${name}/csv?${query}`).expect(400);
});

it.each([
  'receipts?clinic=Jaynagar',
  'takings?doctor=Dr%20No',
  'unpaid?business=Sunrice',
  'admissions?clinic=No',
])('%s, which is no place, has no rows and no sum', async (path) => {
  const { text } = await desk.get(`/${path}`).expect(200);
  expect(text).toContain('Nothing matches');
  expect(text).not.toContain('₹');
});

it('a place with a name is offered as a filter', async () => {
  await database.rows(
    `insert into receiver.aliases (kind, id, alias, updated_by) values ('clinic', 'c-1', 'Lakeside', 'x')`,
  );
  for (const name of ['receipts', 'takings']) {
    const { text } = await desk.get(`/${name}`).expect(200);
    const [, href] = new RegExp(`href="/console(/${name}\\?clinic=c-1)"[^>]*>Lakeside`).exec(text)!;
    expect((await desk.get(href!).expect(200)).text).toContain('₹700');
  }
});

it('the days from one on are those until today, whatever the range was', async () => {
  const day = new Date(now * 1000 - 86_400_000).toISOString().slice(0, 10);
  const { text } = await desk.get(`/receipts?range=last_month&from=${day}`).expect(200);
  expect(sumsOf(text)).toMatch(/^1 /);
});

it('a list has no page behind the last one', async () => {
  for (const chosen of ['range=today', 'clinic=nobody'])
    expect((await desk.get(`/receipts?${chosen}&page=49`).expect(404)).text).toContain('fewer pages');
});

it('who is admitted is shown however long ago it began', async () => {
  expect(sumsOf((await desk.get('/admissions').expect(200)).text)).toMatch(/^1 /);
});

it.each([
  ['100.005', '₹100.01'],
  ['0.00499999999999999999', '₹0'],
  ['-12', '-₹12'],
  ['123456.005000000000000000000000000001', '₹1,23,456.01'],
])('an amount of %s is shown as %s', (value, shown) => {
  expect(formatAmount(value)).toBe(shown);
});

it('a name that came as an object is shown as a name', async () => {
  const name = { first_name: 'Asha', last_name: 'Rao' };
  await apply(database, [samples.admission({ data: { id: 'of-object', patient: { name } } })]);
  expect(textOf((await desk.get('/admissions').expect(200)).text)).toContain(' Asha Rao ');
});

it('a callback has the number of its receipt as it is printed, or the kind of its record', async () => {
  await apply(database, [
    receipt(70, { receipt_number: 'JA_26_2' }),
    samples.health_account({ event_time: now }),
  ]);
  const { text } = await desk.get('/callbacks?range=all').expect(200);
  for (const shown of ['>JA_26_2<', '>Health account<']) expect(text).toContain(shown);
});

it('the days and the place that are chosen stay on the other tabs of a group', async () => {
  const hrefsOf = async (path: string) =>
    Array.from(
      (await desk.get(path)).text.matchAll(/href="\/console(\/[^"]*clinic=c-1[^"]*)"/g),
      ([, href]) => href!.replaceAll('&amp;', '&'),
    );
  // Days to come are only for lists that have some.
  const toCome = await hrefsOf('/appointments?range=tomorrow&clinic=c-1');
  for (const path of ['/booked?clinic=c-1', '/appointments?range=tomorrow&clinic=c-1'])
    expect(toCome).toContain(path);
  expect(await hrefsOf('/appointments?from=2099-01-01&clinic=c-1')).toContain('/booked?clinic=c-1');
  const chosen = '?from=2026-10-01&to=2026-10-31&clinic=c-1';
  const takings = await hrefsOf(`/takings${chosen}`);
  for (const name of ['takings-by-doctor', 'payments']) expect(takings).toContain(`/${name}${chosen}`);
  expect(await hrefsOf('/takings?clinic=c-1')).toContain('/payments?range=this_month&clinic=c-1');
  expect(await hrefsOf(`/payments${chosen}`)).toContain(`/takings-by-clinic${chosen}`);
  const receipts = await hrefsOf('/receipts?range=last_month&clinic=c-1');
  for (const name of ['unpaid', 'deleted', 'failed', 'twice'])
    expect(receipts).toContain(`/${name}?range=last_month&clinic=c-1`);
});

it('rows are counted up to a limit, and beyond it not summed', async () => {
  const insert = (from: number, to: number) =>
    database.rows(
      `insert into review_requests (business_id, client_id, last_event, event_time, extra, delivery_id)
       select 'b1', 'c', 'review', now(), '{}', gen_random_uuid() from generate_series($1::int, $2) n`,
      [from, to],
    );
  const query = { list: listNamed('papers'), entered: {}, isPersonal: true, businesses: ['b1'] };
  await insert(1, maxCounted);
  expect(await readTotals(database.db, query)).toMatchObject({ rows: maxCounted });
  await insert(0, 0);
  expect(await readTotals(database.db, query)).toEqual({ rows: maxCounted + 1, sums: {} });
});
