import fc from 'fast-check';
import { readColumns } from '../../src/reports/columns.ts';
import type { ReportFilter } from '../../src/reports/filter.ts';
import { askReport, queryRows, readPage } from '../../src/reports/queries.ts';
import { reports } from '../../src/reports/reports.ts';
import { countedRows, readTotals } from '../../src/reports/totals.ts';
import { read } from '../../src/store/read.ts';
import { updateSums } from '../../src/store/reporting/daily-sums.ts';
import { samples } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { apply, clear } from '../support/deliveries.ts';

const database = useDatabase();
beforeEach(() => clear(database));

const reportOf = (view: string) => reports.find((one) => one.view === view)!;
const ask = async (view: string, filter: ReportFilter) => {
  const report = reportOf(view);
  const columns = await readColumns(database.db, report);
  return askReport(database.db, { report, columns, shown: columns, filter });
};

const dayAgo = (days: number) =>
  new Date(Date.now() + 5.5 * 3_600_000 - days * 86_400_000).toISOString().slice(0, 10);

it('a page has the newest rows of all days, however many days they are spread over', async () => {
  const spread = fc.record({
    rows: fc.integer({ min: 1, max: 700 }),
    days: fc.constantFrom(1, 2, 10, 100, 1_500),
    future: fc.integer({ min: 0, max: 40 }),
    form: fc.constantFrom<ReportFilter[]>(
      {},
      { business: 'b1' },
      { from: dayAgo(364), to: dayAgo(0) },
      { from: '2020-01-01', to: '2030-01-01' },
      { to: '2024-05-05' },
      { from: '2024-05-05' },
    ),
    view: fc.constantFrom('receipts', 'all_receipts', 'receipts_as_of', 'receipts_daily', 'businesses_daily'),
    page: fc.integer({ min: 1, max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(spread, async ({ rows, days, future, form, view, page }) => {
      await clear(database);
      await apply(
        database,
        ['b0', 'b1'].map((business_id) => samples.review_request({ business_id })),
      );
      await database.pool.query(
        `insert into receipts (business_id, receipt_id, client_id, last_event, event_time, extra, delivery_id, received_at,
           applied_at, net_amount, doctor_oid)
         select 'b' || n % 2, n, 'c', 'receipt.created', now() + (($3 - n * 7 % $2) || ' days')::interval, '{}',
           gen_random_uuid(), now(), now(), n, 'd' || n % 5
         from generate_series(1, $1) n`,
        [rows, days, future],
      );
      const asked = await ask(view, form);
      expect(await readPage(database.db, asked, page)).toEqual(
        await read(database.db, queryRows(asked, page)),
      );
    }),
    { numRuns: 20 },
  );
});

it('the totals of any range of days are those of its rows, from whole months and the days around them', async () => {
  await apply(database, [samples.review_request({ business_id: 'b1' })]);
  await database.pool.query(
    `insert into receipts (business_id, receipt_id, client_id, last_event, event_time, extra, delivery_id, received_at,
       applied_at, net_amount, doctor_oid)
     select 'b1', n, 'c', 'receipt.created', timestamptz '2024-01-15 12:00+00' + n * interval '1 day', '{}', gen_random_uuid(),
       now(), now(), n, 'd' || n % 2
     from generate_series(1, 400) n`,
  );
  await updateSums(database.db, 'activities');
  // A day in the middle of one of these months.
  await database.rows(`update receipts set net_amount = 1000 where receipt_id = 200`);
  const day = fc
    .integer({ min: 0, max: 430 })
    .map((days) => new Date(Date.UTC(2024, 0, 1 + days)).toISOString().slice(0, 10));
  const form = fc.record({ from: day, to: day, doctor: fc.constant('d1') }, { requiredKeys: [] });
  await fc.assert(
    fc.asyncProperty(form, async (form) => {
      fc.pre(!form.from || !form.to || form.from <= form.to);
      const asked = await ask('receipts', form);
      const { from = '-infinity', to = 'infinity', doctor = '' } = form;
      const expected = await database.rows(
        `select count(*)::int as rows, sum(net_amount)::text as net_amount from reporting.receipts
         where day between '${from}' and '${to}' and doctor_id like '%${doctor}'`,
      );
      const { rows, sums } = await readTotals(database.db, asked);
      expect([{ rows, net_amount: rows === 0 ? null : sums.net_amount }]).toEqual(expected);
    }),
    { numRuns: 20 },
  );
});

it('rows without kept sums are counted up to a limit, and beyond it not summed', async () => {
  const insert = (from: number, to: number) =>
    database.pool.query(
      `insert into notices (business_id, client_id, last_event, event_time, extra, delivery_id)
       select 'b1', 'c', 'notice', now(), '{}', gen_random_uuid() from generate_series($1::int, $2) n`,
      [from, to],
    );
  const asked = await ask('notices', {});
  const limit = countedRows(asked.report);
  await insert(1, limit);
  expect(await readTotals(database.db, asked)).toMatchObject({ rows: limit, isCut: false });
  await insert(0, 0);
  expect(await readTotals(database.db, asked)).toEqual({ rows: limit + 1, isCut: true, sums: {} });
});
