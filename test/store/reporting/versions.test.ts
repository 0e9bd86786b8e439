import fc from 'fast-check';
import { applyDeliveries } from '../../../src/apply/apply.ts';
import { families } from '../../../src/families/index.ts';
import { consentFormCallback, history, receiptCallback } from '../../support/callbacks.ts';
import { useDatabase } from '../../support/database.ts';
import { apply, clear, insertCallbacks } from '../../support/deliveries.ts';

const database = useDatabase();
beforeEach(() => clear(database));

const versions = () => database.rows('select * from reporting.receipt_history v order by v::text');

it('each delivery of a receipt is stored as one version, in any order, even if it is applied again', async () => {
  await fc.assert(
    fc.asyncProperty(history, fc.array(fc.nat(), { maxLength: 8 }), async (callbacks, again) => {
      await clear(database);
      const ids: string[] = [];
      for (let at = 0; at < callbacks.length; at += 5) {
        ids.push(...(await apply(database, callbacks.slice(at, at + 5))));
      }
      const kept = await versions();
      expect(kept.map(({ delivery_id }) => delivery_id).toSorted()).toEqual(
        (await database.rows(`select id from deliveries where family = 'receipt' order by id`)).map(
          ({ id }) => id,
        ),
      );
      const repeated = again.map((index) => ids[index % ids.length]!);
      const { failed } = await applyDeliveries(database.db, families, [...new Set(repeated)], {
        status: 'applied',
      });
      expect(failed).toEqual([]);
      expect(await versions()).toEqual(kept);
    }),
    { numRuns: 10 },
  );
});

it('if the newest version and its delivery are deleted, a replay makes the one before it the newest', async () => {
  const [first, second] = await apply(database, [
    receiptCallback(),
    receiptCallback({ event: 'receipt.updated', event_time: 1_700_000_009 }),
  ]);
  await database.pool.query('delete from deliveries where id = $1', [second]);
  await database.pool.query('delete from receipts');
  await applyDeliveries(database.db, families, [first!], { status: 'applied' });
  expect(await versions()).toMatchObject([{ version: '1', delivery_id: first }]);
});

it('a replay adds missing versions', async () => {
  const ids = await apply(database, [
    receiptCallback({ data: { more: { deep: [1.5] }, client_id: 'not the envelope’s' } as never }),
    receiptCallback({ event: 'receipt.deleted', event_time: 1_700_000_009, data: { receipt_url: null } }),
    receiptCallback({ event_time: 1_700_000_001, data: { receipt_id: 2, created_at: null, archive: null } }),
    consentFormCallback(),
  ]);
  await insertCallbacks(database, [receiptCallback({ data: { receipt_id: 3 } })]);
  const kept = await versions();
  expect(kept).toHaveLength(3);
  await database.pool.query('delete from receipt_versions; delete from receipts where receipt_id = 2');
  expect(await applyDeliveries(database.db, families, ids, { status: 'applied' })).toMatchObject({
    failed: [],
  });
  expect(await versions()).toEqual(kept);
});

it('deleting deliveries deletes their versions', async () => {
  const [first] = await apply(database, [
    receiptCallback(),
    receiptCallback({ event: 'receipt.updated', event_time: 1_700_000_009 }),
  ]);
  await apply(database, [receiptCallback({ data: { receipt_id: 1e30 } })]);

  // Among many rows, versions are found by receipt id, which a failed delivery may not have.
  await database.pool.query(
    `insert into receipt_versions (receipt_id, business_id, delivery_id, client_id, last_event, event_time, extra,
                                   received_at, applied_at)
     select n, 'other', gen_random_uuid(), 'c', 'receipt.created', now(), '{}', now(), now()
     from generate_series(1, 10000) as n`,
  );
  await database.pool.query('analyze receipt_versions');

  await database.pool.query(`delete from deliveries where id = $1 or status = 'failed'`, [first]);
  expect(await database.rows('select count(*)::int as n from inbox')).toEqual([{ n: 1 }]);
  expect(await database.rows('select 1 from failed_deliveries')).toEqual([]);
  expect(
    await database.rows(`select version, event from reporting.receipt_history where business_id <> 'other'`),
  ).toEqual([{ version: '1', event: 'receipt.updated' }]);
  await insertCallbacks(database, [consentFormCallback(), consentFormCallback()]);
  await database.pool.query('truncate inbox');
  for (const table of [
    'pending_deliveries',
    'failed_deliveries',
    'applied_deliveries',
    'resends',
    'receipt_versions',
  ]) {
    expect([table, await database.rows(`select * from ${table}`)]).toEqual([table, []]);
  }
});
