import fc from 'fast-check';
import { isSummable } from '../../../src/reports/column-kinds.ts';
import { readColumns } from '../../../src/reports/columns.ts';
import { reports } from '../../../src/reports/reports.ts';
import { samples } from '../../support/callbacks.ts';
import { apply, clear } from '../../support/deliveries.ts';
import { useConsole } from '../use-console.ts';
import { parseCsv } from './read-files.ts';
import { today } from './times.ts';

const { database, visitor } = useConsole();
beforeEach(() => clear(database));

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
        const rows = await visitor.read(`/reports/receipts?columns=all&sort=${by}&page=${number}`);
        found.push(...[...rows.matchAll(/\/console\/deliveries\/([\da-f-]{36})/g)].map(([, id]) => id!));
      }
      const [head, ...rows] = parseCsv(await visitor.read(`/reports/receipts/csv?sort=${by}`));
      expect(new Set(found).size).toBe(401);
      expect(found).toEqual(rows.map((row) => row[head!.indexOf('delivery_id')]));
      const values = rows.map((row) => row[head!.indexOf(by.replace('-', ''))]!);
      const isNull = values.map((value) => value === '');
      expect(isNull).toEqual(isNull.toSorted());
    }),
    { numRuns: 3, examples: [['-net_amount'], ['doctor_id']] },
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
  expect(first).toMatch(/<tfoot>.*>₹601\.00<.*>₹401\.00<.*<\/tfoot>/);
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
    for (const column of await readColumns(database.db, report)) {
      if (isSummable(column)) summed.add(column.name);
    }
  }
  expect([...summed].filter((name) => !name.endsWith('_amount')).sort()).toMatchInlineSnapshot(`
[
  "aborted",
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
  "minutes",
  "no_show",
  "ongoing",
  "open_clearances",
  "other",
  "payment_requests",
  "quarantined",
  "receipts",
  "received",
  "reconciled",
  "rescheduled",
  "review_requests",
  "times_received",
  "waiting",
]
`);
});
