import fc from 'fast-check';
import { history, receiptCallback } from '../../support/callbacks.ts';
import { useDatabase } from '../../support/database.ts';
import { apply, clear } from '../../support/deliveries.ts';

const database = useDatabase();
beforeEach(() => clear(database));

const version = (event: string, event_time: number, data: object, receipt_id = 1) =>
  receiptCallback({ event: `receipt.${event}`, event_time, data: { receipt_id, ...data } } as never);

const now = async () => (await database.rows('select clock_timestamp()::text as at'))[0]!.at;

it('receipt_history numbers the versions of a receipt in their order, whatever the order of arrival', async () => {
  const at = 1_700_000_000;
  await apply(database, [version('updated', at, { updated_at: at + 2, net_amount: 2.2 })]);
  await apply(database, [
    version('deleted', at + 5, { net_amount: 2.2 }),
    version('created', at, { updated_at: at + 2, net_amount: 1.1 }),
    version('created', at, { updated_at: at + 3, net_amount: 3.3 }),
    version('created', at, { net_amount: 9 }, 2),
  ]);
  expect(
    await database.rows(
      `select receipt_id, version, event, net_amount, deleted_at is not null as deletes
       from reporting.receipt_history order by receipt_id, version`,
    ),
  ).toEqual([
    { receipt_id: '1', version: '1', event: 'receipt.created', net_amount: '1.1', deletes: false },
    { receipt_id: '1', version: '2', event: 'receipt.updated', net_amount: '2.2', deletes: false },
    { receipt_id: '1', version: '3', event: 'receipt.created', net_amount: '3.3', deletes: false },
    { receipt_id: '1', version: '4', event: 'receipt.deleted', net_amount: '2.2', deletes: true },
    { receipt_id: '2', version: '1', event: 'receipt.created', net_amount: '9', deletes: false },
  ]);
});

it('a deletion without updated_at is the last version of its second', async () => {
  const at = 1_700_000_000;
  await apply(database, [version('deleted', at, { updated_at: null })]);
  const between = await now();
  await apply(database, [version('updated', at, { updated_at: at + 9 })]);
  await apply(database, [version('updated', at + 1, { updated_at: null })]);
  expect(
    await database.rows(
      'select event, deleted_at is not null as deletes from reporting.receipt_history order by version',
    ),
  ).toEqual([
    { event: 'receipt.updated', deletes: false },
    { event: 'receipt.deleted', deletes: true },
    { event: 'receipt.updated', deletes: false },
  ]);
  expect(await database.rows('select last_event from reporting.receipts_as_of($1)', [between])).toEqual([
    { last_event: 'receipt.deleted' },
  ]);
});

it('receipt_history contains applied versions only, so that faulty data cannot break it', async () => {
  await apply(database, [version('created', 1_700_000_000, { archive: 1e30 })]);
  await apply(database, [version('updated', 1_700_000_001, {})]);
  expect(await database.rows('select count(*)::int as n from failed_deliveries')).toEqual([{ n: 1 }]);
  expect(await database.rows('select version, event from reporting.receipt_history')).toEqual([
    { version: '1', event: 'receipt.updated' },
  ]);
});

it('receipts_as_of returns the row at a moment: before, between and after two versions', async () => {
  const before = await now();
  await apply(database, [version('created', 1_700_000_000, { net_amount: 1.1 })]);
  const between = await now();
  await apply(database, [version('deleted', 1_700_000_009, { net_amount: 2.2 })]);
  const asOf = (moment: unknown) =>
    database.rows(
      'select receipt_id, net_amount, deleted_at is null as live from reporting.receipts_as_of($1)',
      [moment],
    );
  expect(await asOf(before)).toEqual([]);
  expect(await asOf(between)).toEqual([{ receipt_id: '1', net_amount: '1.1', live: true }]);
  expect(await asOf(await now())).toEqual([{ receipt_id: '1', net_amount: '2.2', live: false }]);
});

it('receipts_as_of returns the rows that the table had at each moment, for any history', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (callbacks) => {
      await clear(database);
      const snapshots: { moment: unknown; rows: unknown }[] = [];
      for (let at = 0; at < callbacks.length; at += 4) {
        await apply(database, callbacks.slice(at, at + 4));
        const rows = await database.rows('select * from reporting.all_receipts r order by r::text');
        snapshots.push({ moment: await now(), rows });
      }
      for (const { moment, rows } of snapshots) {
        const then = 'select * from reporting.receipts_as_of($1) r order by r::text';
        expect(await database.rows(then, [moment])).toEqual(rows);
      }
    }),
    { numRuns: 10 },
  );
});

it('the last version in receipt_history is the row of the table, for any history', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (callbacks) => {
      await clear(database);
      await apply(database, callbacks);
      const last = await database.rows(
        `select distinct on (business_id, receipt_id) business_id, receipt_id, delivery_id
         from reporting.receipt_history order by business_id, receipt_id, version desc`,
      );
      const rows = 'select business_id, receipt_id, delivery_id from reporting.all_receipts order by 1, 2';
      expect(last).toEqual(await database.rows(rows));
    }),
    { numRuns: 10 },
  );
});
