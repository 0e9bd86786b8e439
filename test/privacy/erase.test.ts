import { families } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { erasePatient } from '../../src/privacy/erase.ts';
import {
  consentFormCallback,
  consentFormData,
  deliveryOf,
  receiptCallback,
  receiptData,
  reviewRequestCallback,
  reviewRequestData,
} from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { apply, clear, insertCallbacks } from '../support/deliveries.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  await clear(database);
  await database.pool.query('truncate erased, erasures, withheld.records, erased_receipts cascade');
});

const options = { actor: { id: 'test' }, keepMs: 1000 * 86400_000, keepsTotals: true };
const patient = receiptData.patient_oid;

it('first', async () => {
  const callbacks = [
    receiptCallback(),
    receiptCallback({ event: 'receipt.updated', event_time: 1700000005, data: { patient_oid: undefined } }),
    consentFormCallback(),
    reviewRequestCallback(),
    receiptCallback({ data: { receipt_id: 5, patient_oid: 'other' } }),
  ];
  await apply(database, callbacks);
  const dry = await erasePatient(database.db, families, { id: patient }, { ...options, dryRun: true });
  console.log(dry, await database.rows('select count(*) from deliveries'));
  console.log(await erasePatient(database.db, families, { id: patient }, options));
  console.log(
    await database.rows('select id, business_id, envelope from deliveries'),
    await database.rows('select source, destroy_at, content from withheld.records'),
    await database.rows('select * from receipts'),
    await database.rows('select * from erased'),
    await database.rows('select * from erased_receipts'),
  );
  console.log(
    await insertDeliveries(
      database.pool,
      callbacks.map((c) => deliveryOf(c as never)),
    ),
  );
});
