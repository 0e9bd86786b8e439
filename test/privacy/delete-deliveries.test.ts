import fc from 'fast-check';
import { families } from '../../src/families/index.ts';
import { deleteDeliveries } from '../../src/privacy/delete-deliveries.ts';
import {
  consentFormCallback,
  history,
  receiptCallback,
  reviewRequestCallback,
} from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { apply, clear, everyRow, insertCallbacks, moveApplied } from '../support/deliveries.ts';

const database = useDatabase();
beforeEach(() => clear(database));

const everything = async () => [
  ...(await everyRow(database)),
  await database.rows('select id, count from resends order by id'),
];

const remove = (ids: string[]) =>
  database.db.transaction().execute((tx) => deleteDeliveries(tx, families, ids, 'deleted'));

it('what stays after deleting any deliveries of receipts, or all of a form, is what the others alone make', async () => {
  await fc.assert(
    fc.asyncProperty(history, fc.array(fc.boolean(), { minLength: 24, maxLength: 24 }), async (all, kept) => {
      await clear(database);
      const isKept = new Map<string, boolean>();
      const ids = await insertCallbacks(database, all);
      for (const [index, id] of ids.entries()) {
        const { data } = all[index]!;
        isKept.set(id, 'id' in data ? kept[data.id === 'a' ? 0 : 1]! : kept[index]!);
      }
      const staying = all.filter((_, index) => isKept.get(ids[index]!));
      await clear(database);
      for (const callback of staying) await apply(database, [callback]);
      const expected = await everything();

      await clear(database);
      for (const callback of all) await apply(database, [callback]);
      await remove(ids.filter((id) => !isKept.get(id)));
      expect(await everything()).toEqual(expected);
    }),
    { numRuns: 15 },
  );
});

it('counts the deleted rows of each table', async () => {
  const created = receiptCallback();
  const updated = receiptCallback({ event: 'receipt.updated', event_time: 1_700_000_100 });
  const ids = await apply(database, [created, updated, consentFormCallback(), reviewRequestCallback()]);
  expect(await remove(ids)).toEqual({
    receipts: 1,
    receipt_versions: 1,
    consent_forms: 1,
    review_requests: 1,
    deliveries: 4,
  });
  expect((await everything()).flat()).toEqual([]);
});

it('deletes deliveries that were never applied, also with a key that is none', async () => {
  const pending = await insertCallbacks(database, [receiptCallback()]);
  const failed = await insertCallbacks(database, [receiptCallback({ data: { receipt_id: 'none' } })]);
  await database.rows(
    `with moved as (delete from pending_deliveries where id = $1 returning id, family, received_at)
     insert into failed_deliveries (id, family, received_at, error) select *, 'broken' from moved`,
    failed,
  );
  expect((await remove([...pending, ...failed])).deliveries).toBe(2);
  expect((await everything()).flat()).toEqual([]);
});

it('a delivery that failed after it was applied takes its row along', async () => {
  const ids = await apply(database, [consentFormCallback()]);
  await moveApplied(database, 'true', 'failed');
  await database.rows('update failed_deliveries set applied_at = now()');
  expect(await remove(ids)).toMatchObject({ consent_forms: 1, deliveries: 1 });
});
