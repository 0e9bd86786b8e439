import type pg from 'pg';
import { applyDeliveries } from '../../src/apply/apply.ts';
import { families } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { openPool } from '../../src/store/pool.ts';
import { planForAnySize } from '../../src/store/transaction-settings.ts';
import {
  consentFormCallback,
  deliveryOf,
  receiptCallback,
  reviewRequestCallback,
} from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { insertCallbacks } from '../support/deliveries.ts';
import { type PlanNode, rowsRead } from '../support/plans.ts';

let database: TestDatabase;
let connection: pg.Pool;
beforeEach(async () => {
  database = await createDatabase();
  connection = openPool({ connectionString: database.url, max: 1, settings: planForAnySize }, () => {});
});
afterEach(async () => {
  await connection.end();
  await database.close();
});

const apply = (ids: string[]) => applyDeliveries(database.db, families, ids, { preparedOn: connection });

/** Some of each family; every second receipt is an older version than the one before. */
const callbacks = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => [
    receiptCallback({ event_time: 1_700_000_009, data: { receipt_id: from + index } }),
    receiptCallback({ event_time: 1_700_000_000, data: { receipt_id: from + index } }),
    consentFormCallback({ data: { id: `form ${from + index}` } }),
    reviewRequestCallback({ event_time: 1_700_000_000 + from + index }),
  ]).flat();

/** What the cached plan of the statement reads, for each of these deliveries. */
async function explain(ids: string[]): Promise<{ plan: string; rows: number }> {
  const { rows: statements } = await connection.query(
    `select name from pg_prepared_statements where statement like '%insert into applied_deliveries%' and generic_plans > 0 and custom_plans = 0`,
  );
  expect(statements).toHaveLength(1);
  const { rows } = await connection.query(
    `explain (analyze, format json) execute "${statements[0].name}" ('{${ids}}')`,
  );
  const plan = rows[0]['QUERY PLAN'][0].Plan as PlanNode;
  return { plan: JSON.stringify(plan), rows: rowsRead(plan, 'Index') };
}

it('the plan that a connection makes for empty tables reads one row per delivery of large ones', async () => {
  expect(await apply(await insertCallbacks(database, callbacks(0, 1)))).toMatchObject({ applied: 4 });
  for (let from = 1; from < 2_000; from += 100) {
    expect(await apply(await insertCallbacks(database, callbacks(from, 100)))).toMatchObject({
      applied: 400,
    });
  }
  const ids = await insertCallbacks(database, callbacks(5_000, 50));
  const { plan, rows } = await explain(ids);
  expect(plan).not.toContain('Seq Scan');
  expect(plan).not.toContain('Bitmap');
  // Its row of pending_deliveries and its row of the inbox.
  expect(rows / ids.length).toBeLessThanOrEqual(2);
  expect(await database.rows('select count(*)::int as n from pending_deliveries')).toEqual([{ n: 0 }]);
});

/** As a pooler that gives each transaction another connection of the server. */
const poolers: [string, (name: string) => Promise<unknown>][] = [
  ['loses prepared statements', () => connection.query('deallocate all')],
  [
    'has prepared statements of others',
    async (name) => {
      await connection.query('deallocate all');
      await connection.query(`prepare "${name}" as select 1`);
      // The driver does not know it.
      connection.once('acquire', (client) => {
        (client as unknown as { connection: { parsedStatements: object } }).connection.parsedStatements = {};
      });
    },
  ],
];

it.each(poolers)('through a pooler that %s, deliveries are stored once', async (_, disturb) => {
  const insert = (callback: object) => insertDeliveries(connection, [deliveryOf(callback as never)]);
  const [first, second] = callbacks(0, 1);
  expect(await insert(first!)).toEqual(['accepted']);
  const [statement] = (await connection.query('select name from pg_prepared_statements')).rows;
  await disturb(statement.name);
  expect(await insert(second!)).toEqual(['accepted']);
  expect(await insert(second!)).toEqual(['duplicate']);
});

it.each(poolers)('through a pooler that %s, deliveries are applied once', async (_, disturb) => {
  const ids = await insertCallbacks(database, callbacks(0, 3));
  // A second family would be tried with another statement.
  const applyReceipts = (some: string[]) =>
    applyDeliveries(database.db, families.slice(0, 1), some, { preparedOn: connection });
  expect(await applyReceipts(ids.slice(0, 1))).toMatchObject({ applied: 1 });
  const [statement] = (await connection.query('select name from pg_prepared_statements')).rows;
  await disturb(statement.name);
  expect(await applyReceipts(ids)).toMatchObject({ applied: 5, broken: [] });
  expect(await applyReceipts(ids)).toMatchObject({ applied: 0, broken: [] });
});
