import { applyDeliveries } from '../../src/apply/apply.ts';
import { applyStatement } from '../../src/apply/apply-statement.ts';
import { families } from '../../src/families/index.ts';
import { withClient } from '../../src/store/pool.ts';
import { consentFormCallback, receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { apply, clear, insertCallbacks } from '../support/deliveries.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
beforeAll(async () => {
  await database.pool.query(
    `create function drop_row() returns trigger language plpgsql as 'begin return null; end'`,
  );
});
beforeEach(() => clear(database));

const receipt = (receipt_id: number, second = 0, event = 'receipt.created') =>
  receiptCallback({ event, event_time: 1_700_000_000 + second, data: { receipt_id } });
const applyAll = (ids: readonly string[]) => applyDeliveries(database.db, families, ids);

async function whileDropping<T>(on: string, run: () => Promise<T>, when = 'true'): Promise<T> {
  await database.pool.query(
    `create trigger dba before ${on} for each row when (${when}) execute function drop_row()`,
  );
  return run().finally(() => database.pool.query(`drop trigger dba on ${on.split(' ').at(-1)}`));
}

it.each(['insert on receipts', 'update on receipts', 'insert or update on receipts'])(
  'where a trigger drops every %s, the family waits, nothing fails, and nothing is lost',
  async (on) => {
    await apply(database, [receipt(1), receipt(2)]);
    const updated = on.startsWith('insert on') ? [11, 12] : [1, 2];
    const ids = await insertCallbacks(database, [
      ...updated.map((id) => receipt(id, 5)),
      consentFormCallback(),
    ]);
    const result = await whileDropping(on, () => applyAll(ids));
    expect(result).toMatchObject({ applied: 1, failed: [] });
    expect(result.broken).toEqual([
      {
        family: 'receipt',
        error: expect.objectContaining({ message: expect.stringContaining('a trigger drops rows') }),
      },
    ]);
    expect(await applyAll(ids)).toMatchObject({ applied: 2, changed: 2, broken: [] });
  },
);

it('where a trigger drops rows of applied_deliveries, every family waits', async () => {
  const ids = await insertCallbacks(database, [receipt(1), consentFormCallback()]);
  const { applied, failed, broken } = await whileDropping('insert on applied_deliveries', () =>
    applyAll(ids),
  );
  const expected = families.map(({ name }) => name).filter((name) => /^(receipt|consent_form)$/.test(name));
  expect([applied, failed, broken.map(({ family }) => family)]).toEqual([0, [], expected]);
  expect(await applyAll(ids)).toMatchObject({ applied: 2, changed: 2 });
});

it('a delivery whose row alone is dropped fails with the reason, and a replay applies it', async () => {
  const ids = await insertCallbacks(
    database,
    [1, 2, 3].map((id) => receipt(id)),
  );
  const result = await whileDropping('insert on receipts', () => applyAll(ids), 'new.receipt_id = 2');
  expect(result).toMatchObject({ applied: 2, broken: [], failed: [{ id: ids[1] }] });
  expect(result.failed[0]!.error).toEqual(expect.stringMatching(/^21000 a trigger drops rows/));
  const replayed = await applyDeliveries(database.db, families, ids, { status: 'failed' });
  expect(replayed).toMatchObject({ applied: 1, changed: 1 });
});

it('versions that are not the newest, in the table or among themselves, are no fault', async () => {
  await apply(database, [receipt(1, 9), receipt(2, 1)]);
  const ids = await insertCallbacks(database, [receipt(1, 3), receipt(2, 2), receipt(2, 4), receipt(2, 3)]);
  expect(await applyAll(ids)).toMatchObject({ applied: 4, changed: 1, failed: [], broken: [] });
});

it('a version in the table of an event of a later release is no fault', async () => {
  await apply(database, [receipt(1)]);
  await database.pool.query(`update receipts set last_event = 'receipt.merged'`);
  const ids = await insertCallbacks(database, [receipt(1, 0, 'receipt.updated')]);
  expect(await applyAll(ids)).toMatchObject({ applied: 1, failed: [], broken: [] });
});

it.each([
  ['inserts', []],
  ['updates', [receipt(1, 1)]],
])('a greater version that another worker %s meanwhile is no fault', async (_, before) => {
  if (before.length > 0) await apply(database, before);
  const [older, newer] = await insertCallbacks(database, [receipt(1, 5), receipt(1, 9, 'receipt.updated')]);
  await withClient(database.url, async (other) => {
    await other.query('begin');
    await other.query(applyStatement(families), [[newer]]);
    const applying = applyDeliveries(database.db, families, [older!], { preparedOn: database.pool });
    await until(async () => {
      const query = `select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%taken%'`;
      return (await database.rows(query)).length === 1;
    });
    await other.query('commit');
    expect(await applying).toMatchObject({ applied: 1, changed: 0, failed: [], broken: [] });
  });
  expect(await database.rows('select last_event from receipts')).toEqual([{ last_event: 'receipt.updated' }]);
});

it('deliveries whose callbacks row security hides are not taken off the pending ones', async () => {
  const ids = await insertCallbacks(database, [receipt(1)]);
  const { pool } = database;
  await pool.query(`create role restricted; grant all on all tables in schema public to restricted;
    alter table inbox enable row level security`);
  try {
    await withClient(database.url, async (client) => {
      await client.query('set role restricted');
      await expect(client.query(applyStatement(families), [ids])).rejects.toMatchObject({ code: '21000' });
    });
  } finally {
    await pool.query(
      'alter table inbox disable row level security; drop owned by restricted; drop role restricted',
    );
  }
  expect(await applyAll(ids)).toMatchObject({ applied: 1, changed: 1 });
});
