import { families } from '../../../src/families/index.ts';
import { readColumns } from '../../../src/reports/columns.ts';
import { labelOfColumn } from '../../../src/reports/labels.ts';
import { reportGroups, reports } from '../../../src/reports/reports.ts';
import { paths, receiptCallback, samples } from '../../support/callbacks.ts';
import { apply, clear } from '../../support/deliveries.ts';
import { post } from '../../support/service.ts';
import { useConsole } from '../use-console.ts';
import { visitAs } from '../visitor.ts';
import { parseCsv } from './read-files.ts';
import { now, today } from './times.ts';

const { database, service, visitor } = useConsole();
beforeEach(() => clear(database));

it('shows every view of the schema', async () => {
  const views = await database.rows(`select viewname as view from pg_views where schemaname = 'reporting'`);
  // Other views are made of two; the aliases have a page of their own.
  const parts = ['aliases', 'receipt_statements'];
  const functions = ['receipts_as_of'];
  expect(reports.flatMap(({ view }) => (functions.includes(view) ? [] : view)).sort()).toEqual(
    views
      .map(({ view }) => view)
      .filter((view) => !parts.includes(view as string))
      .sort(),
  );
});

/** A page without its navigation. */
const readMain = async (path: string) => (await visitor.read(path)).replace(/^.*<main/, '');

it('the list has a clinic’s reports by group, each with its line; those of operations are a page for operators', async () => {
  const list = await readMain('/reports');
  const operations = await readMain('/reports?group=operations');
  for (const [name, group] of Object.entries(reportGroups)) {
    for (const { view, line } of group.reports) {
      const isListed = [list, operations].map((page) => page.includes(`href="/console/reports/${view}"`));
      expect([view, ...isListed]).toEqual([view, name !== 'operations', name === 'operations']);
      expect(list + operations).toContain(`<p>${line}</p>`);
    }
  }
  const viewer = await visitAs(service.url, 'viewer');
  expect(await viewer.read('/reports')).not.toContain('group=operations');
});

it('no two columns of a report have one label', async () => {
  const repeated = [];
  for (const report of reports) {
    const labels = (await readColumns(database.db, report)).map(({ name }) => labelOfColumn(report, name));
    repeated.push(
      ...labels.filter((label, index) => labels.indexOf(label) < index).map((label) => [report.view, label]),
    );
  }
  expect(repeated).toEqual([]);
});

it('a page shows what a row is read for, money first; all columns take a click', async () => {
  await apply(database, [receiptCallback({ ...today(), data: { receipt_id: 7, created_at: Date.now() } })]);
  const headsOf = async (query: string) =>
    [
      ...(await visitor.read(`/reports/receipts${query}`)).matchAll(
        /<th scope="col"[^>]*><a href="[^"]*sort=-?(\w+)"/g,
      ),
    ].map(([, name]) => name);
  const heads = await headsOf('');
  expect(heads.slice(0, 5)).toEqual([
    'issued_at',
    'receipt_number',
    'net_amount',
    'paid_amount',
    'due_amount',
  ]);
  expect(heads).not.toContain('delivery_id');
  const columns = await readColumns(database.db, { view: 'receipts' });
  const open = columns.filter(({ personal }) => !personal).map(({ name }) => name);
  expect((await headsOf('?columns=all')).toSorted()).toEqual(open.toSorted());
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
    await database.pool.query('truncate schema_drift, uptime');
    expect(await check('')).toHaveLength(1);
    await apply(database, [
      ...families.map(({ name }) => samples[name](today())),
      receiptCallback({
        ...today(),
        event: 'receipt.deleted',
        data: { receipt_id: 2, created_at: Date.now() },
      }),
      // Twice the same: patient, amount and day.
      ...[3, 4].map((receipt_id) =>
        receiptCallback({ ...today(), data: { receipt_id, created_at: Date.now() } }),
      ),
    ]);
    await post(service.url + paths.receipt, { ...receiptCallback(), event_time: 'x' });
    await database.pool.query(
      `insert into schema_drift values ('receipt.created', '/data/x', 'unknown', '', 1, now(), now(), gen_random_uuid());
       insert into uptime values (now() - interval '3 h', now() - interval '2 h'), (now() - interval '1 h', now());
       update receipts set received_at = now() - interval '9 days';
       update payment_requests set appointment_id = 'unpaid', url = '', event_time = now() - interval '2 hours'`,
    );
    expect((await check('')).length).toBeGreaterThan(1);
    const { business_id } = receiptCallback();
    await check(`?business=${business_id}&clinic=64a1f0c2e4b0a1b2c3d4e5f8`);
    await check('?from=2020-01-01&to=2020-01-31&business=%00%27');
  },
);

it.each(['nothing', 'receipts; drop table receipts', '..%2fdeliveries'])(
  'there is no report %s',
  async (view) => {
    expect((await visitor.get(`/reports/${view}`)).status).toBe(404);
  },
);

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
    `href="/console/records/receipt?business=${business_id}&amp;id=7"`,
  );
  expect(await visitor.read('/reports/consent_forms')).toContain('href="/console/records/consent_form?');
});
