import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { families } from '../../../src/callbacks/families/index.ts';
import { createLog } from '../../../src/common/log.ts';
import { migrate } from '../../../src/receiver/store/migrate.ts';
import { rebuildRows } from '../../../src/receiver/worker/rebuild.ts';
import { startWorker } from '../../../src/receiver/worker/worker.ts';
import { openCore } from '../../operations/support.ts';
import { connect } from '../../support/database.ts';
import { deliveryOf, receiptOf, yesterday } from '../../support/intake.ts';
import type { ReceiverDatabase } from '../../support/receiver-database.ts';
import { testConfig } from '../../support/service.ts';
import { startTestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

it('a damaged page of what waits hides only itself, is named with its remedy, and that heals it', async () => {
  const server = await startTestServer();
  const log = createLog('silent');
  const database = connect(server.url, 5);
  const { pool, db, store } = database;
  await migrate(db, families, log);
  const count = 300;
  await store(...Array.from({ length: count }, (_, n) => receiptOf(n)));
  await store(deliveryOf({ event: 'mcert.created', event_time: yesterday, data: { id: 'm' } }));
  const [file] = await server.rows(`
    select current_setting('data_directory') as folder, pg_relation_filepath('receiver.pending_deliveries') as path`);
  const [hidden] = await server.rows(`
    select count(*)::int as n from receiver.pending_deliveries where ctid < '(1,0)'`);
  await server.rows('checkpoint');
  process.kill(server.pid()!, 'SIGKILL');
  await server.exited();
  const at = openSync(join(file!.folder as string, file!.path as string), 'r+');
  writeSync(at, Buffer.alloc(4_096, 0xff), 0, 4_096, 0);
  closeSync(at);
  await server.restart();

  const core = openCore(database as ReceiverDatabase);
  const worker = startWorker({ merge: core.merge, pool, families, log, times: testConfig().times });
  const rows = async (table: string) =>
    (await server.rows(`select count(*)::int as n from ${table}`))[0]!.n as number;
  await until(async () => (await rows('receipts')) === count - (hidden!.n as number));
  await until(async () => (await rows('consent_forms')) === 1);
  // Alone, it is not mistaken for the record at fault.
  await store(receiptOf(count));
  await until(async () => (await rows('receipts')) === count - (hidden!.n as number) + 1);
  const checks = await core.features[0]!.checks!(core);
  const remedy = expect.stringMatching(/receiver\.pending_deliveries is damaged.* truncate .*rebuild/);
  expect(checks).toContainEqual(expect.objectContaining({ about: 'waiting', todo: remedy }));
  await pool.query('truncate receiver.pending_deliveries');
  await rebuildRows({ pool, families, merge: core.merge, log });
  expect(await rows('receipts')).toBe(count + 1);
  await worker.stop();
  await pool.end();
  await server.stop();
});
