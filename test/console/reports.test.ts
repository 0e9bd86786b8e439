import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { isPersonal, readColumns } from '../../src/console/reports/queries.ts';
import { reports } from '../../src/console/reports/reports.ts';
import { csvWriter } from '../../src/csv.ts';
import { families } from '../../src/families/index.ts';
import { paths, receiptCallback, samples } from '../support/callbacks.ts';
import { canary, canaryOf } from '../support/canary.ts';
import { apply, clear } from '../support/deliveries.ts';
import { post } from '../support/service.ts';
import { until } from '../support/until.ts';
import { useConsole } from './use-console.ts';
import { adminToken, signInTo } from './visitor.ts';

const { database, service, visitor, logged, startAnother } = useConsole();
beforeEach(() => clear(database));

const now = () => Math.floor(Date.now() / 1000);
const today = () => ({ event_time: now(), data: { created_at: Date.now(), admission_date: now() } });

it('a stalled download is aborted, and its connection and transaction are released', async () => {
  const { url } = await startAnother({ adminToken, downloads: { stalledMs: 400, totalMs: 60_000 } });
  const { cookie, get } = await signInTo(url);
  await database.pool.query(
    `insert into review_requests (business_id, doctor_id, client_id, last_event, event_time, extra, delivery_id)
     select 'b', lpad(n::text, 2000, 'd'), 'c', 'e', now(), '{}', gen_random_uuid() from generate_series(1, 20000) as n`,
  );
  const connections = (condition = 'true') =>
    database.rows(
      `select 1 from pg_stat_activity where datname = current_database() and application_name = 'receiver download'
       and ${condition}`,
    );
  const stalled = [1, 2].map(() => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
    const path = '/console/reports/review_requests/csv';
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\n\r\n`);
    return socket;
  });
  await until(async () => (await connections('backend_xmin is not null')).length === 2);
  await until(async () => (await connections()).length === 0);
  const response = await get('/reports/review_requests/csv');
  expect([response.status, (await response.text()).split('\r\n').length]).toEqual([200, 20_002]);
  for (const socket of stalled) socket.destroy();
});

/** Parses CSV as in RFC 4180, independently of the code that writes it. */
function parseCsv(csv: string): string[][] {
  const rows: string[][] = [[]];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/y;
  while (cell.lastIndex < csv.length) {
    const [whole, quoted, plain, end] = cell.exec(csv)!;
    rows.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain!);
    if (end === '\r\n' && cell.lastIndex < csv.length) rows.push([]);
    if (whole === '') break;
  }
  return rows;
}

const withoutPersonalData = new Set([
  ...[
    'receipts_daily',
    'doctors_daily',
    'clinics_daily',
    'appointments_daily',
    'practice_changes',
    'deleted_receipts',
  ],
  ...['delivery_health', 'deliveries', 'silence', 'quarantine', 'schema_drift'],
]);

it('shows every view of the schema', async () => {
  const views = await database.rows(`select viewname as view from pg_views where schemaname = 'reporting'`);
  // Other views are made of two; the aliases have a page of their own.
  const parts = ['applied_deliveries', 'activities', 'aliases'];
  const functions = ['receipts_as_of'];
  expect(reports.flatMap(({ view }) => (functions.includes(view) ? [] : view)).sort()).toEqual(
    views
      .map(({ view }) => view)
      .filter((view) => !parts.includes(view as string))
      .sort(),
  );
});

it.each(reports.map(({ view }) => view))(
  '%s is a page and a download, with and without rows, whatever the filter',
  async (view) => {
    const check = async (query: string) => {
      const [page, csv] = [
        await visitor.get(`/reports/${view}${query}`),
        await visitor.get(`/reports/${view}/csv${query}`),
      ];
      expect([query, page.status, csv.status]).toEqual([query, 200, 200]);
      expect(csv.headers.get('content-type')).toContain('text/csv');
      await page.text();
      return parseCsv(await csv.text());
    };
    await database.pool.query('truncate schema_drift');
    expect(await check('')).toHaveLength(1);
    await apply(database, [
      ...families.map(({ name }) => samples[name](today())),
      receiptCallback({
        ...today(),
        event: 'receipt.deleted',
        data: { receipt_id: 2, created_at: Date.now() },
      }),
    ]);
    await post(service.url + paths.receipt, { ...receiptCallback(), event_time: 'x' });
    await database.pool.query(
      `insert into schema_drift values ('receipt.created', '/data/x', 'unknown', '', 1, now(), now(), gen_random_uuid())`,
    );
    expect((await check('')).length).toBeGreaterThan(1);
    const { business_id } = receiptCallback();
    await check(`?business=${business_id}&clinic=64a1f0c2e4b0a1b2c3d4e5f8`);
    await check('?from=2020-01-01&to=2020-01-31&business=%00%27');
  },
);

it('the days of a range are in the reports’ time zone, both ends included', async () => {
  const at = (moment: string) => Date.parse(moment);
  await apply(database, [
    receiptCallback({ data: { receipt_id: 1, created_at: at('2026-03-01T18:29:59Z') } }), // 1 March in India
    receiptCallback({ data: { receipt_id: 2, created_at: at('2026-03-01T18:30:00Z') } }), // 2 March
    receiptCallback({ data: { receipt_id: 3, created_at: at('2026-03-02T18:30:00Z') } }), // 3 March
  ]);
  const csv = await visitor.read('/reports/receipts/csv?from=2026-03-01&to=2026-03-02');
  const [head, ...rows] = parseCsv(csv);
  expect(rows.map((row) => row[head!.indexOf('receipt_id')]).sort()).toEqual(['1', '2']);
  expect(csv).toContain('2026-03-02 00:00:00+05:30');
});

it.each(['?from=yesterday', '?to=2026-02-30'])('an invalid range is rejected: %s', async (query) => {
  for (const path of [`/reports/receipts${query}`, `/reports/receipts/csv${query}`]) {
    expect((await visitor.get(path)).status).toBe(400);
  }
});

it.each(['nothing', 'receipts; drop table receipts', '..%2fdeliveries'])(
  'there is no report %s',
  async (view) => {
    expect((await visitor.get(`/reports/${view}`)).status).toBe(404);
  },
);

it('personal data is shown and downloaded only by a posted form, and logged', async () => {
  await apply(
    database,
    families.map((family) => canaryOf(family, today())),
  );
  const personal = reports.filter(({ view }) => !withoutPersonalData.has(view));
  expect(personal.length).toBeGreaterThan(15);
  for (const { view } of reports) {
    expect(await visitor.read(`/reports/${view}`)).not.toContain(canary);
    expect(await visitor.read(`/reports/${view}/csv`)).not.toContain(canary);
  }
  for (const { view } of personal) {
    logged.length = 0;
    expect(await (await visitor.post(`/reports/${view}/personal`)).text()).toContain(canary);
    expect(await (await visitor.post(`/reports/${view}/csv`)).text()).toContain(canary);
    const entries = await database.rows('select action, filter from access_log order by entry desc limit 2');
    expect(entries).toMatchObject([
      { action: 'download', filter: { report: view } },
      { action: 'reveal', filter: { report: view } },
    ]);
    expect(logged.join()).not.toContain(canary);
  }
});

it('every report with personal data has the patient, for the access log', async () => {
  for (const report of reports) {
    const columns = await readColumns(database.db, report, families);
    const personal = columns.filter((column) => column.personal).map(({ name }) => name);
    const patients = personal.includes('patient_ids') ? 'patient_ids' : 'patient_id';
    if (personal.length > 0) {
      expect([report.view, personal]).toEqual([report.view, expect.arrayContaining([patients])]);
    }
  }
});

it('the default days of open admissions are a year, those of other reports a month', async () => {
  await apply(database, [
    samples.admission({ data: { admission_date: now() - 100 * 86_400 } }),
    samples.appointment({ data: { created_at: now() - 100 * 86_400 } }),
  ]);
  const rowsOf = async (view: string) => parseCsv(await visitor.read(`/reports/${view}/csv`)).slice(1);
  expect(await rowsOf('open_admissions')).toHaveLength(1);
  expect(await rowsOf('admissions')).toEqual([]);
  expect(await rowsOf('appointments')).toEqual([]);
});

it('a text column is personal unless it is marked otherwise', () => {
  const isText = (name: string) => isPersonal(families, name, 'text');
  expect(['name', 'mobile', 'remarks', 'patient_id', 'invented_tomorrow'].every(isText)).toBe(true);
  expect(['clinic_id', 'business_id', 'event', 'actor'].some(isText)).toBe(false);
  expect(isPersonal(families, 'net_amount', 'numeric')).toBe(false);
});

it('a nested column is personal even if a text of its name is not', () => {
  for (const type of ['jsonb', 'text[]', 'bytea']) {
    expect(isPersonal(families, 'clinic_id', type)).toBe(true);
    expect(isPersonal(families, 'partner_meta', type)).toBe(true);
  }
});

it('a download of many rows is streamed: it begins before they have all been read', async () => {
  await database.pool.query(
    `insert into review_requests (business_id, doctor_id, client_id, last_event, event_time, extra, delivery_id)
     select 'b', lpad(n::text, 2000, 'd'), 'c', 'e', now(), '{}', gen_random_uuid() from generate_series(1, 20000) as n`,
  );
  const response = await visitor.get('/reports/review_requests/csv');
  const reader = response.body!.getReader();
  expect((await reader.read()).value!.length).toBeGreaterThan(0);
  const busy = () =>
    database.rows(
      `select 1 from pg_stat_activity where application_name = 'receiver download' and state = 'active'`,
    );
  expect(await busy()).toHaveLength(1);
  await reader.cancel();
  const whole = await (await visitor.get('/reports/review_requests/csv')).text();
  expect(parseCsv(whole)).toHaveLength(20_001);
});

describe('CSV', () => {
  async function write(columns: string[], rows: Record<string, string | null>[]): Promise<string> {
    const writer = csvWriter(columns);
    const written = text(writer.pipe(new PassThrough()));
    for (const row of rows) writer.write(row);
    writer.end();
    return written;
  }

  it('is read back as it was written, whatever the values', async () => {
    const value = fc.option(fc.string({ unit: fc.constantFrom('a', '"', ',', '\r', '\n', ' ', 'अ', ';') }));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ one: value, two: value }), { minLength: 1 }), async (rows) => {
        const read = parseCsv(await write(['one', 'two'], rows));
        const plain = (cell: string | null) => cell ?? '';
        // A value that begins with a carriage return is marked as text.
        const marked = (cell: string | null) => (cell?.startsWith('\r') ? `'${cell}` : plain(cell));
        expect(read).toEqual([['one', 'two'], ...rows.map(({ one, two }) => [marked(one), marked(two)])]);
      }),
    );
  });

  it('contains no formula', async () => {
    const formulas = [
      '=1+1',
      '+911234',
      '-2+3',
      '@sum(a1)',
      '\t=1',
      '\r=1',
      '=HYPERLINK("https://elsewhere.invalid")',
      '＝1',
    ];
    const csv = await write(
      ['value'],
      formulas.map((value) => ({ value })),
    );
    const [, ...cells] = parseCsv(csv);
    expect(cells.map(([cell]) => cell)).toEqual(formulas.map((formula) => `'${formula}`));
  });

  it('does not mark numbers as text', async () => {
    const numbers = ['-12.50', '0', '12345678901234567890.01', '-0'];
    const [, ...cells] = parseCsv(
      await write(
        ['value'],
        numbers.map((value) => ({ value })),
      ),
    );
    expect(cells.flat()).toEqual(numbers);
  });

  it('has a header even without rows', async () => {
    expect(await write(['one', 'two'], [])).toBe('one,two\r\n');
  });
});
