import { applyDeliveries } from '../../src/apply/apply.ts';
import { replayDeliveries } from '../../src/apply/replay.ts';
import { families } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import {
  consentFormCallback,
  deliveryOf,
  receiptCallback,
  reviewRequestCallback,
} from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.close());

// Which version of each row there is, and which transaction wrote it.
const tables = ['deliveries', 'receipts', 'receipt_versions', 'consent_forms', 'review_requests'];
const written = () =>
  Promise.all(tables.map((table) => database.rows(`select ctid, xmin from ${table} order by ctid`)));

const replay = (dryRun: boolean) =>
  replayDeliveries(database.db, families, { status: 'applied' }, { dryRun });

it('a replay of what was applied writes only what changes, and a dry run writes nothing', async () => {
  const callbacks = [
    ...Array.from({ length: 20 }, (_, index) => receiptCallback({ data: { receipt_id: index } })),
    consentFormCallback(),
    reviewRequestCallback(),
  ];
  const deliveries = callbacks.map((callback) => deliveryOf(callback as never));
  await insertDeliveries(database.pool, deliveries);
  await applyDeliveries(
    database.db,
    families,
    deliveries.map(({ id }) => id),
  );
  const before = await written();

  for (const dryRun of [true, false]) {
    expect(await replay(dryRun)).toEqual({ applied: 22, changed: 0, failed: 0, errors: [] });
    expect(await written()).toEqual(before);
  }

  await database.pool.query('delete from receipts where receipt_id = 7');
  expect(await replay(false)).toEqual({ applied: 22, changed: 1, failed: 0, errors: [] });
  const [marked, receipts] = await written();
  expect(marked).toEqual(before[0]);
  expect(receipts).toHaveLength(20);
});
