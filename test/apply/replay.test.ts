import { replayDeliveries } from '../../src/apply/replay.ts';
import { families } from '../../src/families/index.ts';
import { consentFormCallback, receiptCallback, reviewRequestCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { apply } from '../support/deliveries.ts';

const database = useDatabase();

// The version of each row and the transaction that wrote it.
const tables = [
  'applied_deliveries',
  'inbox',
  'receipts',
  'receipt_versions',
  'consent_forms',
  'review_requests',
];
const written = () =>
  Promise.all(tables.map((table) => database.rows(`select ctid, xmin from ${table} order by ctid`)));

const replay = (dryRun: boolean) =>
  replayDeliveries(database.db, families, { status: 'applied' }, { dryRun });

it('a replay of applied deliveries writes only changed rows, and a dry run writes nothing', async () => {
  const callbacks = [
    ...Array.from({ length: 20 }, (_, index) => receiptCallback({ data: { receipt_id: index } })),
    consentFormCallback(),
    reviewRequestCallback(),
  ];
  await apply(database, callbacks);
  const before = await written();

  for (const dryRun of [true, false]) {
    expect(await replay(dryRun)).toEqual({ applied: 22, changed: 0, failed: 0, errors: [] });
    expect(await written()).toEqual(before);
  }

  await database.pool.query('delete from receipts where receipt_id = 7');
  expect(await replay(false)).toEqual({ applied: 22, changed: 1, failed: 0, errors: [] });
  const [applied, inbox, receipts] = await written();
  expect([applied, inbox]).toEqual(before.slice(0, 2));
  expect(receipts).toHaveLength(20);
});
