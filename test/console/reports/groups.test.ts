import { receiptCallback } from '../../support/callbacks.ts';
import { apply, clear } from '../../support/deliveries.ts';
import { useConsole } from '../use-console.ts';
import { parseCsv, readXlsx } from './read-files.ts';

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

it('a chart draws what is compared as a second series of the same sum', async () => {
  const page = await visitor.read(
    `/reports/receipts?${march}&group=doctor&compare=previous_period&of=net_amount`,
  );
  const figure = /<figure class="chart".*?<\/figure>/s.exec(page)![0];
  expect(/data-compared="(.*?)"/.exec(figure)![1]).toBe('0');
  expect(rowsOf(figure)).toEqual([
    ['Group', 'To pay', 'To pay, 1 Feb 2026 to 28 Feb 2026'],
    ['Dr. Rao', '₹5,000.00', '₹0.00'],
    ['Dr. Joseph', '₹900.00', '₹1,000.00'],
    ['Dr. Raman', '₹0.00', '₹400.00'],
  ]);
  expect([...figure.matchAll(/data-value="([^"]*)"/g)].map(([, value]) => Number(value))).toEqual([
    5_000, 0, 900, 1_000, 0, 400,
  ]);
});

it('the table of groups is downloaded with its columns, under a name of its own, and logged', async () => {
  const query = `${march}&group=doctor&compare=previous_period&of=net_amount&sort=change&part=groups`;
  const csv = await visitor.get(`/reports/receipts/csv?${query}`);
  expect(csv.headers.get('content-disposition')).toContain(
    'receipts_by-doctor_against-previous-period_2026-03-01_2026-03-31.csv',
  );
  expect(parseCsv(await csv.text())).toEqual([
    [
      'doctor_id',
      'net_amount',
      'net_amount_before',
      'net_amount_change',
      'net_amount_change_share',
      'doctor_alias',
    ],
    ['d-3', '0', '400', '-400', '-1.0000', 'Dr. Raman'],
    ['d-1', '900', '1000', '-100', '-0.1000', 'Dr. Joseph'],
    ['d-2', '5000', '0', '5000', '', 'Dr. Rao'],
  ]);
  const [entry] = await database.rows(
    'select action, filter, rows from access_log order by entry desc limit 1',
  );
  expect(entry).toMatchObject({
    action: 'download',
    filter: { report: 'receipts', part: 'groups', group: 'doctor', compare: 'previous_period' },
    rows: '3',
  });
  const { rows, about } = await readXlsx(await visitor.get(`/reports/receipts/xlsx?${query}`));
  expect(rows.map((row) => row.map((cell) => cell?.value))).toEqual([
    [
      'Doctor',
      'Doctor id',
      '1 Mar 2026 to 31 Mar 2026',
      '1 Feb 2026 to 28 Feb 2026',
      'Change',
      'Change in %',
    ],
    ['Dr. Raman', 'd-3', 0, 400, -400, -1],
    ['Dr. Joseph', 'd-1', 900, 1_000, -100, -0.1],
    ['Dr. Rao', 'd-2', 5_000, 0, 5_000, undefined],
    ['Total', undefined, 5_900, 1_400, 4_500, undefined],
  ]);
  expect(rows[2]![5]!.format).toBe('0.0%');
  expect(Object.fromEntries(about)).toMatchObject({
    'Group by': 'doctor',
    Compared: 'To pay',
    'Earlier days': '1 Feb 2026 to 28 Feb 2026',
  });
  expect((await visitor.get(`/reports/receipts/csv?${march}&part=groups`)).status).toBe(400);
});

it('sums of all rows are downloaded with what they are compared with', async () => {
  const csv = await visitor.read(`/reports/receipts/csv?${march}&compare=previous_period&part=groups`);
  expect(parseCsv(csv)).toEqual(
    expect.arrayContaining([
      ['sum', 'now', 'before', 'change', 'change_share'],
      ['To pay', '5900', '1400', '4500', '3.2143'],
      ['Receipts', '2', '2', '0', '0.0000'],
    ]),
  );
});

it('the list of reports leads to who fell most with a click', async () => {
  const list = await visitor.read('/reports');
  const [, path] = /href="\/console([^"]*)">Who fell most/.exec(list)!;
  expect((await visitor.get(path!.replaceAll('&amp;', '&'))).status).toBe(200);
});

it('the sums of all rows are compared without groups, beside the rows', async () => {
  const page = await visitor.read(`/reports/receipts?${march}&compare=previous_period`);
  expect(rowsOf(page)).toContainEqual(['To pay', '₹5,900.00', '₹1,400.00', '₹4,500.00', '+321.4%']);
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
