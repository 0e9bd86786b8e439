import pg from 'pg';
import { families } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { migrate } from '../../src/store/migrate.ts';
import { serveChanges } from '../changes/serve.ts';
import { deliveryOf, receiptCallback } from '../support/callbacks.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const role = `bi_${process.pid}`;
/** The keys that versions before the table `leases` computed from these names. */
const names = [
  'record_schema_drift',
  ...['alerts', 'changes', 'drain', 'erasure', 'follow-ups', 'reconciliation', 'retention', 'schema'],
  ...['search terms', 'set aside', 'spilled', 'states', 'sums of activities', 'sums of payments', 'sweep'],
].flatMap((name) => [name, `receiver ${name}`]);

let stranger: pg.Client;
// Before the database is closed.
afterAll(async () => {
  await stranger.end();
  await database.rows(`drop role ${role}`);
});
const { database, start } = useService();
beforeAll(async () => {
  await database.rows(`create role ${role} login password 'x'`);
  stranger = new pg.Client({
    connectionString: database.owner.url.replace(/\/\/[^@]*@/, `//${role}:x@`),
  });
  await stranger.connect();
  await stranger.query('select pg_advisory_lock(hashtext(name)) from unnest($1::text[]) as name', [names]);
});
it('a role without rights that holds every advisory lock delays no sweep, sum, search, change, erasure and migration', async () => {
  const serving = await serveChanges(start)();
  await start({ role: 'worker' });
  const callback = receiptCallback();
  // Without a job: the sweep finds it.
  await insertDeliveries(database.pool, [deliveryOf(callback)]);
  const count = async (from: string) =>
    Number((await database.rows(`select count(*) from ${from}`))[0]!.count);
  await until(() => count('receipts'));
  await until(async () => (await count('outdated_days')) === 0);
  await until(() => count('receipt_terms'));
  await until(() => count('state_checks where completed_at is not null'));
  const { changes } = await serving.read();
  expect(changes).toMatchObject([{ kind: 'changed', record: expect.any(Object) }]);

  const settings = { actor: { id: 'test' }, keepMs: 0, keepsTotals: true };
  await erasePatient(database.db, families, { id: String(callback.data.patient_oid) }, settings);
  expect(await count('receipts')).toBe(0);

  await database.rows(`delete from receiver_migrations where name = 'reporting'`);
  expect(await migrate(database.owner.db)).toEqual(['reporting']);
  expect(await count(`pg_locks where locktype = 'advisory' and pid = ${await pidOf(stranger)}`)).toBe(
    new Set(names).size,
  );
});

const pidOf = async (client: pg.Client) =>
  (await client.query('select pg_backend_pid() as pid')).rows[0].pid as number;
