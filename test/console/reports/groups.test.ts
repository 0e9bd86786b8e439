import { receiptCallback } from '../../support/callbacks.ts';
import { apply, clear } from '../../support/deliveries.ts';
import { useConsole } from '../use-console.ts';

const { database, visitor } = useConsole();

const receiptOf = (id: number, doctor_oid: string, day: string, net_amount: number) =>
  receiptCallback({
    data: { receipt_id: id, doctor_oid, net_amount, created_at: Date.parse(`${day}T06:00:00Z`) },
  });

beforeAll(async () => {
  await clear(database);
  await apply(database, [
    receiptOf(1, 'd-1', '2026-03-02', 900),
    receiptOf(2, 'd-1', '2026-02-02', 1_000),
    receiptOf(3, 'd-2', '2026-03-31', 5_000),
    receiptOf(4, 'd-3', '2026-02-28', 400),
  ]);
  await database.rows(`insert into aliases (kind, id, alias, updated_by)
    values ('doctor', 'd-1', 'Dr. Joseph', 'me'), ('doctor', 'd-2', 'Dr. Rao', 'me'), ('doctor', 'd-3', 'Dr. Raman', 'me')`);
});

const march = 'from=2026-03-01&to=2026-03-31';
const rowsOf = (page: string) =>
  [...page.matchAll(/<tr>(.*?)<\/tr>/g)].map(([, row]) =>
    [...row!.matchAll(/<t[dh][^>]*>(.*?)<\/t[dh]>/g)].map(([, cell]) => cell!.replaceAll(/<[^>]*>/g, '')),
  );

it('this month against last, per doctor, with the change in rupees and per cent; who fell most comes first', async () => {
  const page = await visitor.read(
    `/reports/receipts?${march}&group=doctor&compare=previous_period&of=net_amount&sort=change`,
  );
  const table = page.slice(page.indexOf('aria-label="Receipts by doctor"'));
  expect(rowsOf(table)).toEqual([
    ['Doctor', '1 Mar 2026 to 31 Mar 2026', '1 Feb 2026 to 28 Feb 2026', 'Change', 'Change in %'],
    ['Dr. Raman', '₹0.00', '₹400.00', '-₹400.00', '-100%'],
    ['Dr. Joseph', '₹900.00', '₹1,000.00', '-₹100.00', '-10%'],
    ['Dr. Rao', '₹5,000.00', '₹0.00', '₹5,000.00', 'new'],
    ['Total', '₹5,900.00', '₹1,400.00', '₹4,500.00', '+321.4%'],
  ]);
  expect(table).toContain(
    'href="/console/reports/receipts?from=2026-03-01&amp;to=2026-03-31&amp;doctor=d-1"',
  );
});

it('the list of reports leads to who fell most with a click', async () => {
  const list = await visitor.read('/reports');
  const [, path] = /href="\/console([^"]*)">Who fell most/.exec(list)!;
  expect((await visitor.get(path!.replaceAll('&amp;', '&'))).status).toBe(200);
});

it('the sums of all rows are compared without groups, beside the rows', async () => {
  const page = await visitor.read(`/reports/receipts?${march}&compare=previous_period`);
  expect(rowsOf(page)).toContainEqual(['Net', '₹5,900.00', '₹1,400.00', '₹4,500.00', '+321.4%']);
  expect(page).toContain('aria-label="Receipts"');
});

it.each(['Dr. Joseph', 'joseph', 'd-1'])(
  'a doctor is filtered by name, part of a name, or id: %s',
  async (doctor) => {
    const page = await visitor.read(`/reports/receipts?${march}&doctor=${encodeURIComponent(doctor)}`);
    expect(page).toContain('1 row.');
    expect(page).toMatch(/<input [^>]*name="doctor" value="(Dr. Joseph|joseph)"/);
  },
);

it.each([
  ['doctor=Ra', '2 names have that. Enter more of it, or the id.'],
  ['from=2026-03-02&to=2026-03-01', 'This is before 2 Mar 2026.'],
  ['range=all&compare=previous_period', 'Choose a first and a last day.'],
  ['from=tomorrow', 'Enter a day such as 2026-11-21.'],
])('what is wrong is said at its field: %s', async (query, fault) => {
  const response = await visitor.get(`/reports/receipts?${query}`);
  expect(response.status).toBe(400);
  expect(await response.text()).toContain(`role="alert">${fault}</p>`);
  expect((await visitor.get(`/reports/receipts/csv?${query}`)).status).toBe(400);
});
