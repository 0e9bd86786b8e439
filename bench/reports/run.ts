import { rmSync } from 'node:fs';
import { loadavg } from 'node:os';
import { SingleBar } from 'cli-progress';
import { createLog } from '../../src/common/log.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/index.ts';
import { findPlace } from '../../src/store/embedded/place.ts';
import { migrate } from '../../src/store/migrate.ts';
import { makeSuperuser } from '../../test/support/cluster.ts';
import { describeSetting } from '../report/setting.ts';
import { writeReport } from '../report/write.ts';
import { fill, type Volume } from './fill.ts';
import { readOptions } from './options.ts';
import { timeIntake } from './time-intake.ts';
import { tableOf, timeReports } from './time-reports.ts';

const log = createLog('warn');
// A larger cache, and settings that speed up the filling; else the server's own.
const settings = [
  'shared_buffers=1GB',
  'wal_level=minimal',
  'max_wal_senders=0',
  'max_wal_size=4GB',
  'maintenance_work_mem=512MB',
];

const print = (text: string) => process.stdout.write(`${text}\n`);
const load = () => loadavg()[0]!.toFixed(1);

async function fillOnce({ pool, db }: Database, volume: Volume): Promise<void> {
  const { rows } = await pool.query('select from receipts limit 1');
  if (rows.length > 0) return;
  const bar = new SingleBar({
    format:
      '{bar} day {value} of {total}, {deliveries} deliveries, {duration_formatted}, {eta_formatted} left',
    noTTYOutput: true,
    notTTYSchedule: 10_000,
  });
  bar.start(volume.days, 0, { deliveries: 0 });
  await fill(db, volume, (day, deliveries) => bar.update(day, { deliveries }));
  bar.stop();
  await pool.query('vacuum analyze');
}

const { folder, receipts, days, batches, keep, results } = readOptions();
const began = Date.now();
const server = await startEmbeddedPostgres(folder, log, settings);
await makeSuperuser(findPlace(folder).home, server.url); // it creates databases
const database = openDatabase(server.url, log, { connections: 3, name: 'bench' });
try {
  await migrate(database.db);
  await fillOnce(database, { receipts, days });
  const { rows } = await database.pool.query<{ server_version: string }>('show server_version');
  const setting = {
    ...describeSetting({ postgres: `${rows[0]!.server_version}, ${settings[0]}` }),
    'load average before': load(),
  };
  const reports = await timeReports(database.pool, print);
  const intake = batches > 0 ? [await timeIntake(server.url, Math.min(receipts, 200_000), batches, log)] : [];
  const file = writeReport(results, {
    name: 'reports',
    setting: { ...setting, 'load average after': load() },
    tables: [tableOf(reports), ...intake],
  });
  print(`Written to ${file} after ${Math.round((Date.now() - began) / 1000)} s`);
} finally {
  await database.close();
  await server.stop();
  if (!keep) rmSync(folder, { recursive: true, force: true });
}
