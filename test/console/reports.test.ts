import { connect } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import fc from 'fast-check';
import { strFromU8, unzipSync } from 'fflate';
import { csvWriter } from '../../src/common/csv.ts';
import { isPersonal, readColumns, readComments } from '../../src/console/reports/columns.ts';
import { readReportForm } from '../../src/console/reports/form.ts';
import { formatNames, formats } from '../../src/console/reports/formats.ts';
import { reports } from '../../src/console/reports/reports.ts';
import { type XlsxColumn, xlsxWriter } from '../../src/console/reports/xlsx.ts';
import { isSummable } from '../../src/console/ui/field-value.tsx';
import { families } from '../../src/families/index.ts';
import { paths, receiptCallback, samples } from '../support/callbacks.ts';
import { canary, canaryOf } from '../support/canary.ts';
import { apply, clear } from '../support/deliveries.ts';
import { post } from '../support/service.ts';
import { until } from '../support/until.ts';
import { useConsole } from './use-console.ts';
import { adminToken, signInTo, visitAs } from './visitor.ts';

const { database, service, visitor, logged, startAnother } = useConsole();
beforeEach(() => clear(database));

const now = () => Math.floor(Date.now() / 1000);
const today = () => ({ event_time: now(), data: { created_at: Date.now(), admission_date: now() } });

const makeReviewRequests = () =>
  database.pool.query(
    `insert into review_requests (business_id, doctor_id, client_id, last_event, event_time, extra, delivery_id)
     select 'b', lpad(n::text, 2000, 'd'), 'c', 'e', now(), '{}', gen_random_uuid() from generate_series(1, 20000) as n`,
  );

/** The connections of downloads. */
const downloading = (condition = 'true') =>
  database.rows(
    `select 1 from pg_stat_activity where datname = current_database() and application_name = 'receiver download'
     and (${condition})`,
  );

describe.each(formatNames)('a client that disconnects from a download as %s', (format) => {
  const request = () => {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1').on('error', () => {});
    const path = `/console/reports/review_requests/${format}`;
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nCookie: ${visitor.cookie}\r\n\r\n`);
    return socket;
  };
  const isReleased = () =>
    until(
      async () => (await downloading(`state like 'idle in transaction%' or state = 'active'`)).length === 0,
    );

  it('before the first byte releases the connection', async () => {
    const client = await database.pool.connect();
    await client.query('begin; lock table access_log in exclusive mode');
    const socket = request();
    // What is logged before the first byte waits.
    await until(async () => (await downloading(`state = 'idle in transaction'`)).length === 1);
    socket.resetAndDestroy();
    // The receiver learns of it before it answers this.
    await fetch(`${service.url}/healthz`);
    await client.query('commit');
    client.release();
    await isReleased();
  });

  it('midway releases the connection', async () => {
    await makeReviewRequests();
    const socket = request();
    await new Promise((resolve) => socket.once('data', resolve));
    socket.resetAndDestroy();
    await isReleased();
  });
});

it('a stalled download is aborted, and its connection and transaction are released', async () => {
  const { url } = await startAnother({ adminToken, downloads: { stalledMs: 400, totalMs: 60_000 } });
  const { cookie, get } = await signInTo(url);
  await makeReviewRequests();
  const stalled = [1, 2].map(() => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
    const path = '/console/reports/review_requests/csv';
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\n\r\n`);
    return socket;
  });
  await until(async () => (await downloading('backend_xmin is not null')).length === 2);
  await until(async () => (await downloading()).length === 0);
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

it('a report says what the comment on its view or function says, in the list and on its page', async () => {
  const comments = await readComments(database.db);
  const list = await visitor.read('/reports');
  const shown = (view: string) =>
    `<p>${comments.get(view)!.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</p>`;
  for (const { view } of reports) expect(list).toContain(shown(view));
  for (const view of ['receipts_daily', 'receipts_as_of']) {
    expect(await visitor.read(`/reports/${view}`)).toContain(shown(view));
  }
  expect(list).toContain('<a href="/console/reports/receipts_daily">Receipts per day</a>');
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
    expect(await visitor.read(`/reports/${view}/spreadsheet`)).not.toContain(canary);
    expect(JSON.stringify(await readXlsx(await visitor.get(`/reports/${view}/xlsx`)))).not.toContain(canary);
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

/** The cells of the only sheet of an Excel file; empty ones are undefined. */
async function readXlsx(response: Response) {
  const files = unzipSync(new Uint8Array(await response.arrayBuffer()));
  const part = (name: string) => strFromU8(files[name]!);
  const sheet = part('xl/worksheets/sheet1.xml');
  const codes = [...part('xl/styles.xml').matchAll(/formatCode="([^"]+)"/g)].map(([, code]) => code);
  const plain = (xml: string) => xml.replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&amp;/g, '&');
  const cellOf = ([, style, content]: RegExpMatchArray) => {
    const text = /<t [^>]*>([\s\S]*)<\/t>/.exec(content ?? '')?.[1];
    const value = text === undefined ? Number(/<v>(.*)<\/v>/.exec(content!)![1]) : plain(text);
    return { value, format: codes[Number(style) - 2] };
  };
  const rows = [...sheet.matchAll(/<row>([\s\S]*?)<\/row>/g)].map(([, row]) =>
    [...row!.matchAll(/<c\/>|<c(?: s="(\d+)")?[^/>]*>([\s\S]*?)<\/c>/g)].map((cell) =>
      cell[0] === '<c/>' ? undefined : cellOf(cell),
    ),
  );
  return { rows, sheet };
}

const fillReceipts = (columns: string, rows: string) =>
  database.pool.query(`insert into receipts (business_id, receipt_id, client_id, last_event, event_time, extra, delivery_id, received_at, applied_at, ${columns})
    select 'b' || n % 2, n, 'c', 'receipt.created', now() - n % 3 * interval '1 minute', '{}', gen_random_uuid(), now(), now(), ${rows}`);

/** A receipt that was applied as a delivery, so that its business is known. */
const knownBusinesses = () =>
  apply(
    database,
    ['b0', 'b1'].map((business_id) => samples.review_request({ ...today(), business_id })),
  );

it('every row is on exactly one page, whatever the table is sorted by', async () => {
  await fillReceipts(
    'net_amount, amount_due, doctor_oid, patient_oid',
    `nullif(n % 4, 0), 1, nullif('d' || n % 3, 'd0'), 'p' from generate_series(1, 401) as n`,
  );
  await knownBusinesses();
  const page = await visitor.read('/reports/receipts');
  const columns = [...page.matchAll(/<th [^>]*><a href="[^"]*sort=(\w+)"/g)].map(([, name]) => name!);
  expect(columns).toEqual(expect.arrayContaining(['net_amount', 'doctor_id', 'issued_at']));
  expect(columns).not.toContain('mobile');
  const sort = fc.tuple(fc.constantFrom('', '-'), fc.constantFrom(...columns)).map((parts) => parts.join(''));
  await fc.assert(
    fc.asyncProperty(sort, async (by) => {
      const found: string[] = [];
      for (const number of [1, 2, 3]) {
        const rows = await visitor.read(`/reports/receipts?sort=${by}&page=${number}`);
        found.push(...[...rows.matchAll(/\/console\/deliveries\/([\da-f-]{36})/g)].map(([, id]) => id!));
      }
      const [head, ...rows] = parseCsv(await visitor.read(`/reports/receipts/csv?sort=${by}`));
      expect(new Set(found).size).toBe(401);
      expect(found).toEqual(rows.map((row) => row[head!.indexOf('delivery_id')]));
      const values = rows.map((row) => row[head!.indexOf(by.replace('-', ''))]!);
      const isNull = values.map((value) => value === '');
      expect(isNull).toEqual(isNull.toSorted());
    }),
    { numRuns: 6, examples: [['-net_amount'], ['doctor_id']] },
  );
  const revealed = await visitor.post('/reports/receipts/personal', { page: '3', sort: '-name' });
  expect(await revealed.text()).toContain('Previous 200 rows');
  const [entry] = await database.rows(
    'select action, filter, rows from access_log order by entry desc limit 1',
  );
  expect(entry).toMatchObject({ action: 'reveal', filter: { page: 3, sort: '-name' }, rows: '1' });
  const first = await visitor.read('/reports/receipts');
  expect(first).toContain('401 rows');
  expect(first).toContain('href="/console/reports/receipts?page=2"');
  // Of all pages: (1 + 2 + 3) × 100 and one more of 1.
  expect(first).toMatch(/<tfoot>.*>601\.00<.*>401\.00<.*<\/tfoot>/);
});

it.each(['mobile', '-name', 'day; select 1', 'day,1', 'nothing'])(
  'a report is sorted by a shown column only, not by %s',
  async (sort) => {
    for (const path of ['', '/csv', '/xlsx']) {
      const { status } = await visitor.get(`/reports/receipts${path}?sort=${encodeURIComponent(sort)}`);
      expect(status).toBe(400);
    }
  },
);

it('sums amounts and counts, and nothing else', async () => {
  const summed = new Set<string>();
  for (const report of reports) {
    if (report.withoutTotals) continue;
    for (const column of await readColumns(database.db, report, families)) {
      if (isSummable(column)) summed.add(column.name);
    }
  }
  expect([...summed].filter((name) => !name.endsWith('_amount')).sort()).toMatchInlineSnapshot(`
[
  "applied",
  "appointments",
  "booked",
  "cancelled",
  "cancelled_by_doctor",
  "cancelled_by_patient",
  "cancelled_by_staff",
  "completed",
  "completed_without_prescription",
  "consent_forms",
  "count",
  "deleted_receipts",
  "duplicates",
  "failed",
  "ongoing",
  "open_clearances",
  "other",
  "payment_requests",
  "quarantined",
  "receipts",
  "received",
  "review_requests",
  "times_received",
  "waiting",
]
`);
});

it.each([
  ['yesterday', '2026-01-01', '2025-12-31', '2025-12-31'],
  ['last_month', '2026-03-31', '2026-02-01', '2026-02-28'],
  ['last_month', '2026-01-15', '2025-12-01', '2025-12-31'],
  ['this_month', '2026-03-31', '2026-03-01', '2026-03-31'],
  ['last_30_days', '2026-03-02', '2026-02-01', '2026-03-02'],
])('%s on %s is from %s to %s', (range, day, from, to) => {
  // In India it is the next day already.
  jest.spyOn(Date, 'now').mockReturnValue(Date.parse(`${day}T00:00Z`) - 3 * 3_600_000);
  const { filter } = readReportForm({ range }, reports[0]!, 'Asia/Kolkata');
  jest.restoreAllMocks();
  expect(filter).toMatchObject({ from, to });
});

describe('dues', () => {
  const due = (receipt_id: number, daysAgo: number, data: object = {}) =>
    receiptCallback({
      event_time: now() - daysAgo * 86_400,
      data: { receipt_id, created_at: Date.now() - daysAgo * 86_400_000, amount_due: 100, ...data },
    });
  const ids = (csv: string) => {
    const [head, ...rows] = parseCsv(csv);
    return rows.map((row) => row[head!.indexOf('receipt_id')]);
  };

  it('are of all days, the oldest first, and counted by age', async () => {
    await apply(database, [
      due(1, 0),
      due(2, 7),
      due(3, 8),
      due(4, 30),
      due(5, 31),
      due(6, 90),
      due(7, 91),
      due(8, 500),
    ]);
    expect(ids(await visitor.read('/reports/outstanding_receipts/csv'))).toEqual([...'87654321']);
    const byAge = { '0_to_7': '21', '8_to_30': '43', '31_to_90': '65', over_90: '87' };
    const page = await visitor.read('/reports/outstanding_receipts');
    for (const [age, expected] of Object.entries(byAge)) {
      expect(page).toContain(
        `age=${age}">${age.replaceAll('_', ' ')} days</a></td><td class="number">2</td><td class="number">200.00<`,
      );
      expect(ids(await visitor.read(`/reports/outstanding_receipts/csv?age=${age}`))).toEqual([...expected]);
    }
  });

  it('are summed per phone in any spelling; the phone and its patients are shown only when it is logged', async () => {
    await apply(database, [
      due(1, 1, { mobile: '+91 98765 43210', patient_oid: 'patient-1' }),
      due(2, 2, { mobile: '09876543210', patient_oid: 'patient-2' }),
      due(3, 3, { mobile: '', patient_oid: 'patient-1' }),
      due(4, 4, { mobile: '', patient_oid: 'patient-3' }),
    ]);
    const [head, ...rows] = parseCsv(await visitor.read('/reports/outstanding_by_phone/csv'));
    const read = (name: string) => rows.map((row) => row[head!.indexOf(name)]);
    expect(head).not.toContain('mobile');
    expect([read('receipts'), read('due_amount')]).toEqual([
      ['2', '1', '1'],
      ['200', '100', '100'],
    ]);
    expect(await visitor.read('/reports/outstanding_by_phone')).not.toMatch(/43210|patient-/);
    for (const path of ['personal', 'xlsx']) {
      await visitor.post(`/reports/outstanding_by_phone/${path}`);
      const [entry] = await database.rows(
        'select cardinality(patients) as patients, rows from access_log order by entry desc limit 1',
      );
      expect([path, entry]).toEqual([path, { patients: 3, rows: '3' }]);
    }
  });
});

it('a receipt is shown as it was at a moment', async () => {
  await apply(database, [
    receiptCallback({ ...today(), data: { receipt_id: 7, net_amount: 400, created_at: Date.now() } }),
  ]);
  const [before] = await database.rows(
    `update receipts set applied_at = now() - interval '2 hours' returning to_char((now() - interval '1 hour') at time zone 'Asia/Kolkata', 'YYYY-MM-DD"T"HH24:MI') as at`,
  );
  await apply(database, [
    receiptCallback({
      event: 'receipt.updated',
      event_time: now() + 1,
      data: { receipt_id: 7, net_amount: 500, created_at: Date.now(), updated_at: Date.now() },
    }),
  ]);
  const amount = async (query: string) => {
    const [head, row] = parseCsv(await visitor.read(`/reports/receipts_as_of/csv?receipt=7${query}`));
    return row?.[head!.indexOf('net_amount')];
  };
  expect([await amount(`&at=${before!.at}`), await amount('')]).toEqual(['400', '500']);
  expect(await amount('&at=2020-01-01T00:00')).toBeUndefined();
});

it('rows lead to what they are about', async () => {
  await apply(database, [
    receiptCallback({ ...today(), data: { receipt_id: 7, created_at: Date.now() } }),
    samples.consent_form(today()),
  ]);
  const { business_id } = receiptCallback();
  expect(await visitor.read('/reports/receipts')).toContain(
    `href="/console/things/receipt?business=${business_id}&amp;id=7"`,
  );
  expect(await visitor.read('/reports/consent_forms')).toContain('href="/console/things/consent_form?');
});

describe('saved pages', () => {
  beforeEach(() => database.pool.query('truncate saved_views'));
  const save = (address: string, name = 'mine') => visitor.post('/saved-views', { name, address });
  const saved = () => database.rows('select owner, name, address from saved_views');

  it('are links of their owner alone, until they are deleted', async () => {
    await save('/console/reports/receipts_daily?range=yesterday&clinic=64a1f0c2e4b0a1b2c3d4e5f8');
    const link =
      'href="/console/reports/receipts_daily?range=yesterday&amp;clinic=64a1f0c2e4b0a1b2c3d4e5f8">mine</a>';
    expect(await visitor.read('/reports')).toContain(link);
    const other = await visitAs(service.url, 'viewer');
    expect(await other.read('/reports')).not.toContain('mine');
    await other.post('/saved-views/delete', { name: 'mine' });
    expect(await saved()).toHaveLength(1);
    await visitor.post('/saved-views/delete', { name: 'mine' });
    expect(await saved()).toEqual([]);
  });

  it('keep no field that may name a patient, no page and no token', async () => {
    await save('/console/reports/receipts?business=b&patient=p&q=Rao&page=3&csrf=x&sort=-net_amount');
    await save('/console/deliveries?family=receipt&error=Mrs+Rao&id=x', 'list');
    expect((await saved()).map(({ address }) => address).sort()).toEqual([
      '/deliveries?family=receipt',
      '/reports/receipts?business=b&sort=-net_amount',
    ]);
  });

  it.each([
    ['another host', 'https://elsewhere.invalid/x'],
    ['another page', '/console/patients?patient=p'],
    ['a page of personal data', '/console/reports/receipts/personal'],
    ['an order that shows names', '/console/reports/receipts?sort=name'],
    ['no report', '/console/reports/receipts;drop'],
    ['no address', '//'],
  ])('cannot be of %s', async (_what, address) => {
    expect([400, 404]).toContain((await save(address)).status);
    expect(await saved()).toEqual([]);
  });

  it('are fifty at most, and one of the same name is replaced', async () => {
    await database.pool.query(
      `insert into saved_views (owner, name, address) select 'admin-token', n::text, '/reports/receipts' from generate_series(1, 50) as n`,
    );
    expect((await save('/console/reports/silence')).status).toBe(400);
    expect((await save('/console/reports/silence', '7')).status).toBe(303);
    expect(await database.rows(`select address from saved_views where name = '7'`)).toEqual([
      { address: '/reports/silence' },
    ]);
  });
});

describe('downloads', () => {
  const business_id = '123456789012345678';
  const formula = '=HYPERLINK("https://elsewhere.invalid")';
  beforeEach(async () => {
    await database.pool.query(
      `insert into aliases (kind, id, alias, updated_by) values ('business', $1, '=Anna Nagar', 'x')
       on conflict (kind, id) do nothing`,
      [business_id],
    );
    const created_at = Date.parse('2026-03-01T18:30:05.250Z');
    await apply(database, [
      receiptCallback({
        business_id,
        event_time: created_at / 1000,
        data: {
          ...{
            receipt_id: 7,
            created_at,
            receipt_number: '2026-11',
            mobile: '+91 98765 43210',
            name: formula,
          },
          ...{ net_amount: 1234567.5, remarks: '', clinic_id: '7e5', flavour: null },
        },
      }),
    ]);
  });
  const query = '?from=2026-03-01&to=2026-03-02';
  const fields = { from: '2026-03-01', to: '2026-03-02' };

  it('for spreadsheets keep digits of ids and phones, the time of the reports, and no formula: CSV', async () => {
    const csv = await (await visitor.post('/reports/receipts/spreadsheet', fields)).arrayBuffer();
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(csv);
    expect(text.charCodeAt(0)).toBe(0xfeff);
    const [head, row] = parseCsv(text.slice(1));
    const found = Object.fromEntries(head!.map((name, index) => [name, row![index]]));
    expect(found).toMatchObject({
      business_id: `="${business_id}"`,
      business_alias: `'=Anna Nagar`,
      clinic_id: '="7e5"',
      clinic_alias: '',
      receipt_id: '="7"',
      receipt_number: '="2026-11"',
      mobile: '="+91 98765 43210"',
      name: `'${formula}`,
      net_amount: '1234567.5',
      day: '2026-03-02',
      issued_at: '2026-03-02 00:00:05',
    });
    expect(head!.slice(0, 2)).toEqual(['business_id', 'business_alias']);
  });

  it('for machines have values as they are, in the columns of the view first, then the aliases of each kind that has some', async () => {
    const viewColumns = (
      await database.rows(
        `select attname as name from pg_attribute
       where attrelid = 'reporting.receipts'::regclass and attnum > 0 order by attnum`,
      )
    ).map(({ name }) => name);
    const download = async () => {
      const [head, row] = parseCsv(await (await visitor.post('/reports/receipts/csv', fields)).text());
      const found = Object.fromEntries(head!.map((name, index) => [name, row![index]]));
      expect(found).toMatchObject({ mobile: '+91 98765 43210', name: formula, clinic_id: '7e5' });
      return { head, alias: row![viewColumns.length] };
    };
    expect(await download()).toEqual({ head: [...viewColumns, 'business_alias'], alias: '=Anna Nagar' });
    await database.rows('truncate aliases');
    expect(await download()).toEqual({ head: viewColumns, alias: undefined });
  });

  it('for spreadsheets keep digits of ids and phones, the time of the reports, and no formula: Excel', async () => {
    const response = await visitor.post('/reports/receipts/xlsx', fields);
    const { rows, sheet } = await readXlsx(response);
    const [head, row] = rows;
    const found = Object.fromEntries(head!.map((name, index) => [name!.value, row![index]]));
    const days = (moment: string) => Date.parse(moment) / 86_400_000 + 25_569;
    expect(found).toMatchObject({
      business_id: { value: business_id, format: '@' },
      business_alias: { value: '=Anna Nagar' },
      clinic_id: { value: '7e5', format: '@' },
      receipt_id: { value: '7', format: '@' },
      mobile: { value: '+91 98765 43210' },
      name: { value: formula, format: '@' },
      net_amount: { value: 1234567.5, format: '#,##,##0.00' },
      day: { value: days('2026-03-02'), format: 'd mmm yyyy' },
      issued_at: { format: 'd mmm yyyy, hh:mm:ss' },
      remarks: { value: '' },
    });
    expect(found.issued_at!.value).toBeCloseTo(days('2026-03-02T00:00:05.250Z'), 8);
    expect(found.flavour).toBeUndefined();
    expect(sheet).not.toContain('<f>');
    expect(sheet).toMatch(/<pane ySplit="1" [^>]*state="frozen"/);
    const width = head!.length;
    const letters = String.fromCharCode(64 + Math.floor((width - 1) / 26), 65 + ((width - 1) % 26));
    expect([width > 26, sheet]).toEqual([
      true,
      expect.stringContaining(`<autoFilter ref="A1:${letters}2"/>`),
    ]);
  });

  it.each(formatNames)('a file with personal data has another name than one without: %s', async (format) => {
    const path = `/reports/receipts/${format}`;
    const names = [await visitor.get(path + query), await visitor.post(path, fields)].map(
      async (response) => {
        await response.arrayBuffer();
        return response.headers.get('content-disposition');
      },
    );
    const { ending } = formats[format];
    expect(await Promise.all(names)).toEqual([
      `attachment; filename="receipts_2026-03-01_2026-03-02.${ending}"`,
      `attachment; filename="receipts_personal_2026-03-01_2026-03-02.${ending}"`,
    ]);
  });

  it.each(formatNames)(
    'each is in the access log with its format, its filter and its rows: %s',
    async (format) => {
      for (const personal of [false, true]) {
        const path = `/reports/receipts/${format}`;
        const response = await (personal ? visitor.post(path, fields) : visitor.get(path + query));
        expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(100);
        const [entry] = await database.rows(
          'select action, filter, rows, cardinality(patients) as patients from access_log order by entry desc limit 1',
        );
        const filter = { report: 'receipts', ...fields, format, personal };
        expect(entry).toMatchObject({ action: 'download', filter, rows: '1', patients: personal ? 1 : 0 });
      }
    },
  );

  it('an Excel file of too many rows is refused before it is logged', async () => {
    jest.replaceProperty(formats.xlsx, 'mostRows', 0.5);
    const entries = () => database.rows('select count(*) from access_log');
    const before = await entries();
    const response = await visitor.get(`/reports/receipts/xlsx${query}`);
    jest.restoreAllMocks();
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('Download CSV')]);
    expect(await entries()).toEqual(before);
  });

  it('an Excel file is read back as it was written, whatever the values', async () => {
    const unit = fc.constantFrom('a', '<', '&', '"', '\n', ' ', '=', 'अ', '😀', '1', '-', '_');
    const value = fc.option(fc.string({ unit }), { nil: null });
    const columns: XlsxColumn[] = [
      { name: 'one', kind: 'text' },
      { name: 'two', kind: 'amount' },
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ one: value, two: value })), async (rows) => {
        const writer = xlsxWriter(columns);
        const file = new Response(await buffer(Readable.from(rows).pipe(writer)));
        const [, ...read] = (await readXlsx(file)).rows;
        const isNumber = (text: string) => /^-?\d+$/.test(text);
        const expected = (cell: string | null) => cell ?? undefined;
        expect(read.map(([one]) => one?.value)).toEqual(rows.map(({ one }) => expected(one)));
        expect(read.map((row) => row[1]?.value)).toEqual(
          rows.map(({ two }) =>
            two !== null && isNumber(two) && two.length <= 15 ? Number(two) : expected(two),
          ),
        );
      }),
      { numRuns: 50 },
    );
  });
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
        // A value that begins with a line break is marked as text.
        const marked = (cell: string | null) => (/^[\r\n]/.test(cell ?? '') ? `'${cell}` : plain(cell));
        expect(read).toEqual([['one', 'two'], ...rows.map(({ one, two }) => [marked(one), marked(two)])]);
      }),
    );
  });

  it('contains no formula, unless it is for machines', async () => {
    const formulas = [
      '=1+1',
      '+911234',
      '-2+3',
      '@sum(a1)',
      '\t=1',
      '\r=1',
      '\n=1',
      '=HYPERLINK("https://elsewhere.invalid")',
      '＝1',
    ];
    const csv = await write(
      ['value'],
      formulas.map((value) => ({ value })),
    );
    const [, ...cells] = parseCsv(csv);
    expect(cells.map(([cell]) => cell)).toEqual(formulas.map((formula) => `'${formula}`));
    const writer = csvWriter(['value'], { forMachines: true });
    for (const value of formulas) writer.write({ value });
    writer.end();
    expect(
      parseCsv(await text(writer))
        .slice(1)
        .flat(),
    ).toEqual(formulas);
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
