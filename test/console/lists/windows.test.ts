import fc from 'fast-check';
import { lists } from '../../../src/console/lists/definitions.ts';
import {
  fileColumnsOf,
  type ListFilter,
  maxCounted,
  pageRows,
  queryRows,
  readPage,
  readTotals,
} from '../../../src/console/lists/query.ts';
import { read, readBusinesses } from '../../../src/console/lists/read.ts';
import { apply } from '../../db/apply.ts';
import { samples } from '../../support/callbacks.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';

const database = useReceiverDatabase();

async function queryOf(name: string, filter: ListFilter) {
  const list = lists.find((one) => one.name === name)!;
  return { list, filter, isPersonal: true, businesses: await readBusinesses(database.db) };
}

const dayAgo = (days: number) =>
  new Date(Date.now() + 5.5 * 3_600_000 - days * 86_400_000).toISOString().slice(0, 10);

it('a page has the newest rows of all days, however many days they are spread over', async () => {
  await apply(
    database,
    ['b0', 'b1'].map((business_id) => samples.review_request({ business_id })),
  );
  const spread = fc.record({
    rows: fc.integer({ min: 1, max: 700 }),
    days: fc.constantFrom(1, 2, 10, 100, 1_500),
    future: fc.integer({ min: 0, max: 40 }),
    filter: fc.constantFrom<ListFilter[]>(
      {},
      { business: 'b1' },
      { from: dayAgo(364), to: dayAgo(0) },
      { from: '2020-01-01', to: '2030-01-01' },
      { to: '2024-05-05' },
      { from: '2024-05-05' },
    ),
    name: fc.constantFrom('receipts', 'twice'),
    page: fc.integer({ min: 1, max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(spread, async ({ rows, days, future, filter, name, page }) => {
      await database.rows('truncate receipts');
      await database.rows(
        `insert into receipts (business_id, receipt_id, client_id, last_event, event_time, extra, delivery_id, net_amount, doctor_oid, patient_oid)
         select 'b' || n % 2, n, 'c', 'receipt.created', now() + (($3 - n * 7 % $2) || ' days')::interval, '{}',
           gen_random_uuid(), 5, 'd' || n % 5, 'p' || n % 9
         from generate_series(1, $1) n`,
        [rows, days, future],
      );
      const query = await queryOf(name, filter);
      const columns = fileColumnsOf(query);
      const part = { limit: pageRows + 1, offset: (page - 1) * pageRows };
      expect(await readPage(database.db, query, columns, page)).toEqual(
        await read(database.db, queryRows(query, columns, part)),
      );
    }),
    { numRuns: 20 },
  );
});

it('rows are counted up to a limit, and beyond it not summed', async () => {
  const insert = (from: number, to: number) =>
    database.rows(
      `insert into payment_requests (business_id, client_id, last_event, event_time, extra, delivery_id)
       select 'b1', 'c', 'payment', now(), '{}', gen_random_uuid() from generate_series($1::int, $2) n`,
      [from, to],
    );
  const query = await queryOf('payment-links', {});
  await insert(1, maxCounted);
  expect(await readTotals(database.db, query)).toMatchObject({ rows: maxCounted });
  await insert(0, 0);
  expect(await readTotals(database.db, query)).toEqual({ rows: maxCounted + 1, others: 0, sums: {} });
});
