import pg from 'pg';
import { applyDeliveries } from '../../src/apply/apply.ts';
import { applyStatement } from '../../src/apply/apply-statement.ts';
import { families } from '../../src/families/index.ts';
import { withClient } from '../../src/store/pool.ts';
import { consentFormCallback, receiptCallback, reviewRequestCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { clear, insertCallbacks } from '../support/deliveries.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
beforeEach(() => clear(database));

const insert = (callbacks: object[]) => insertCallbacks(database, callbacks);

const receipts = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    receiptCallback({ event_time: 1_700_000_000 + index, data: { receipt_id: index } }),
  );

const untilBlocked = () =>
  until(async () => {
    const query = `select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%taken%'`;
    return (await database.rows(query)).length === 1;
  });

it('a job with all families takes one statement and no transaction', async () => {
  const ids = await insert([...receipts(3), consentFormCallback(), reviewRequestCallback()]);
  const queries = jest.spyOn(pg.Client.prototype, 'query');
  try {
    const result = await applyDeliveries(database.db, families, ids, { preparedOn: database.pool });
    expect(result).toMatchObject({ applied: 5, changed: 5, failed: [] });
    expect(queries).toHaveBeenCalledTimes(1);
  } finally {
    queries.mockRestore();
  }
});

it('a delivery that another worker applied while the job waited for its lock is not applied again', async () => {
  const ids = await insert(receipts(2));
  await withClient(database.url, async (other) => {
    await other.query('begin');
    await other.query('delete from pending_deliveries where id = $1', [ids[0]]);
    const applying = applyDeliveries(database.db, families, ids);
    await untilBlocked();
    await other.query('commit');
    expect(await applying).toMatchObject({ applied: 1, changed: 1 });
  });
  expect(await database.rows('select receipt_id from receipts')).toEqual([{ receipt_id: '1' }]);
});

it('a resend waits for no worker, and a worker for no resend', async () => {
  const [id] = await insert(receipts(1));
  await withClient(database.url, async (other) => {
    await other.query('begin');
    await other.query(applyStatement(families), [[id]]);
    expect(await insert(receipts(1))).toEqual([id]);
    await other.query('commit');
  });
  expect(await database.rows('select status, delivery_count from deliveries')).toEqual([
    { status: 'applied', delivery_count: 2 },
  ]);
});

it('a job locks all its deliveries, ordered by id, before it writes a row of a table', async () => {
  const older = await insert(receipts(5));
  await applyDeliveries(database.db, families, older);
  const ids: string[] = [];
  for (const callback of receipts(5).toReversed()) {
    ids.push(...(await insert([{ ...callback, event: 'receipt.updated' }])));
  }
  const inOrder = ids.toSorted();
  await withClient(database.url, async (other) => {
    await other.query('begin');
    await other.query('select 1 from pending_deliveries where id = $1 for update', [inOrder[3]]);
    const applying = applyDeliveries(database.db, families, ids);
    await untilBlocked();
    const free = await other.query(
      'select id from pending_deliveries where id = any($1) for update skip locked',
      [ids],
    );
    expect(free.rows.map(({ id }) => id).toSorted()).toEqual(inOrder.slice(3));
    expect((await other.query('select 1 from receipts for update skip locked')).rows).toHaveLength(5);
    await other.query('rollback');
    expect(await applying).toMatchObject({ applied: 5, changed: 5 });
  });
});

it('a broken table of one family does not delay the other families of a job', async () => {
  const ids = await insert([...receipts(2), consentFormCallback(), reviewRequestCallback()]);
  await database.pool.query('alter table receipts rename to receipts_elsewhere');
  try {
    const { applied, broken } = await applyDeliveries(database.db, families, ids);
    expect([applied, broken.map(({ family }) => family)]).toEqual([2, ['receipt']]);
  } finally {
    await database.pool.query('alter table receipts_elsewhere rename to receipts');
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

it('records changes from the first job after the feed was opened on, and none after it was closed', async () => {
  const recorded = async (id: number) => {
    const ids = await insert([receiptCallback({ data: { receipt_id: id } })]);
    await applyDeliveries(database.db, families, ids, { preparedOn: database.pool });
    return (await database.rows('select ids from changed_records')).flatMap(({ ids }) => ids);
  };
  expect(await recorded(1)).toEqual([]);
  await database.rows(`insert into change_feed default values`);
  expect(await recorded(2)).toEqual(['2']);
  await database.rows('delete from changed_records');
  expect(await recorded(3)).toEqual(['3']);
  await database.rows('delete from change_feed');
  await database.rows('delete from changed_records');
  expect(await recorded(4)).toEqual([]);
  expect(await recorded(5)).toEqual([]);
});

it('what is applied again tells the feed of records whose row, or version, has changed by that, and of no other', async () => {
  const versions = [1, 2, 3].flatMap((receipt_id) =>
    [0, 1].map((second) => receiptCallback({ event_time: 1_700_000_000 + second, data: { receipt_id } })),
  );
  const ids = await insert(versions);
  await applyDeliveries(database.db, families, ids);
  await database.rows(`insert into change_feed default values`);
  await database.rows(`update receipts set remarks = 'other' where receipt_id = 1`);
  await database.rows(`update receipt_versions set remarks = 'other' where receipt_id = 2`);
  await applyDeliveries(database.db, families, ids, { status: 'applied' });
  const told = await database.rows('select unnest(ids) as id from changed_records order by 1');
  expect(told).toEqual([{ id: '1' }, { id: '2' }]);
  await database.rows('delete from change_feed; delete from changed_records');
});
