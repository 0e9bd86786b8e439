import pg from 'pg';
import { applyDeliveries } from '../../src/apply/apply.ts';
import { families } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { withClient } from '../../src/store/pool.ts';
import {
  consentFormCallback,
  deliveryOf,
  receiptCallback,
  reviewRequestCallback,
} from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.close());
beforeEach(() => database.pool.query('truncate deliveries, receipts, consent_forms, review_requests'));

async function takeIn(callbacks: object[]): Promise<string[]> {
  const deliveries = callbacks.map((callback) => deliveryOf(callback as never));
  await insertDeliveries(database.pool, deliveries);
  return deliveries.map(({ id }) => id);
}

const receipts = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    receiptCallback({ event_time: 1_700_000_000 + index, data: { receipt_id: index } }),
  );

const waitsForALock = () =>
  until(async () => {
    const query = `select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%locked%'`;
    return (await database.rows(query)).length === 1;
  });

it('a job of every family takes one statement, and no transaction around it', async () => {
  const ids = await takeIn([...receipts(3), consentFormCallback(), reviewRequestCallback()]);
  const queries = jest.spyOn(pg.Client.prototype, 'query');
  try {
    expect(await applyDeliveries(database.db, families, ids)).toMatchObject({
      applied: 5,
      changed: 5,
      failed: [],
    });
    expect(queries).toHaveBeenCalledTimes(1);
  } finally {
    queries.mockRestore();
  }
});

it('what another worker applied while a job waited for it is not applied again', async () => {
  const ids = await takeIn(receipts(2));
  await withClient(database.url, async (other) => {
    await other.query('begin');
    await other.query(`update deliveries set status = 'applied' where id = $1`, [ids[0]]);
    const applying = applyDeliveries(database.db, families, ids);
    await waitsForALock();
    await other.query('commit');
    expect(await applying).toMatchObject({ applied: 1, changed: 1 });
  });
  expect(await database.rows('select receipt_id from receipts')).toEqual([{ receipt_id: '1' }]);
});

it('a repetition that is counted while a job waits for it is counted and applied', async () => {
  const ids = await takeIn(receipts(1));
  await withClient(database.url, async (other) => {
    await other.query('begin');
    await other.query('update deliveries set delivery_count = delivery_count + 1');
    const applying = applyDeliveries(database.db, families, ids);
    await waitsForALock();
    await other.query('commit');
    expect(await applying).toMatchObject({ applied: 1, changed: 1 });
  });
  expect(await database.rows('select status, delivery_count from deliveries')).toEqual([
    { status: 'applied', delivery_count: 2 },
  ]);
});

it('a job holds every one of its deliveries, in the order of their ids, before it touches a row of a table', async () => {
  const older = await takeIn(receipts(5));
  await applyDeliveries(database.db, families, older);
  const ids: string[] = [];
  for (const callback of receipts(5).toReversed()) {
    ids.push(...(await takeIn([{ ...callback, event: 'receipt.updated' }])));
  }
  const inOrder = ids.toSorted();
  await withClient(database.url, async (other) => {
    await other.query('begin');
    await other.query('select 1 from deliveries where id = $1 for update', [inOrder[3]]);
    const applying = applyDeliveries(database.db, families, ids);
    await waitsForALock();
    const free = await other.query('select id from deliveries where id = any($1) for update skip locked', [
      ids,
    ]);
    expect(free.rows.map(({ id }) => id).toSorted()).toEqual(inOrder.slice(3));
    expect((await other.query('select 1 from receipts for update skip locked')).rows).toHaveLength(5);
    await other.query('rollback');
    expect(await applying).toMatchObject({ applied: 5, changed: 5 });
  });
});

it('what is wrong with one family’s table does not keep the others of the same job waiting', async () => {
  const ids = await takeIn([...receipts(2), consentFormCallback(), reviewRequestCallback()]);
  await database.pool.query('alter table receipts rename to away');
  try {
    const { applied, broken } = await applyDeliveries(database.db, families, ids);
    expect([applied, broken.map(({ family }) => family)]).toEqual([2, ['receipt']]);
  } finally {
    await database.pool.query('alter table away rename to receipts');
  }
  const statuses = 'select family, status from deliveries order by family, id';
  expect(await database.rows(statuses)).toEqual([
    { family: 'consent_form', status: 'applied' },
    { family: 'receipt', status: 'received' },
    { family: 'receipt', status: 'received' },
    { family: 'review_request', status: 'applied' },
  ]);
  expect(await applyDeliveries(database.db, families, ids)).toMatchObject({ applied: 2, failed: [] });
});
