import { existsSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SingleBar } from 'cli-progress';
import Table from 'cli-table3';
import { Command } from 'commander';
import { createLog } from '../../src/log.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/index.ts';
import { migrate } from '../../src/store/migrate.ts';
import { fill, type Volume } from './fill.ts';
import { measure } from './measure.ts';
import { queries } from './queries.ts';
import { timeIntake } from './time-intake.ts';

const log = createLog('warn');
// The server's own settings but for its cache, and for what makes filling bearable.
const settings = [
  'shared_buffers=1GB',
  'wal_level=minimal',
  'max_wal_senders=0',
  'max_wal_size=4GB',
  'maintenance_work_mem=512MB',
];

const { folder, receipts, days, batches, keep } = new Command('bench:reports')
  .description('fills a database of its own and times every report, then the intake with and without them')
  .option(
    '--folder <folder>',
    'where the database lies; one that is filled already is used again',
    join(tmpdir(), 'bench-reports'),
  )
  .option('--receipts <number>', 'how many receipts', Number, 5_000_000)
  .option('--days <number>', 'over how many days', Number, 730)
  .option('--batches <number>', 'how many batches of callbacks are timed', Number, 600)
  .option('--keep', 'keep the database for another run')
  .parse()
  .opts<{ folder: string; receipts: number; days: number; batches: number; keep?: true }>();

const print = (text: string) => process.stdout.write(`${text}\n`);

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

/** The largest business, a large one, and one in the middle. */
async function businesses({ pool }: Database): Promise<{ id: string; title: string }[]> {
  const { rows } = await pool.query(
    `select business_id as id, count(*)::int as receipts from receipts group by business_id order by 2 desc`,
  );
  return [rows[0], rows[Math.min(4, rows.length - 1)], rows[rows.length >> 1]].map(({ id, receipts }) => ({
    id,
    title: `${receipts} receipts`,
  }));
}

async function timeReports(database: Database): Promise<void> {
  for (const { id, title } of await businesses(database)) {
    const table = new Table({
      head: ['report', 'rows', 'ms', 'quickest', 'reads'],
      style: { head: [], border: [] },
    });
    for (const { view, text } of queries(id)) {
      const { rows, ms, quickestMs, plan } = await measure(database.pool, text);
      table.push([view, rows, ms.toFixed(1), quickestMs.toFixed(1), plan]);
    }
    print(`\nOne business (${title}), the last 30 days\n${table.toString()}`);
  }
}

const began = Date.now();
const server = await startEmbeddedPostgres(folder, log, settings);
const database = openDatabase(server.url, log, { connections: 3, name: 'bench' });
try {
  await migrate(database.db);
  await fillOnce(database, { receipts, days });
  await timeReports(database);
  if (batches > 0) print(`\n${await timeIntake(server.url, Math.min(receipts, 200_000), batches, log)}`);
} finally {
  await database.close();
  await server.stop();
  if (!keep && existsSync(folder)) rmSync(folder, { recursive: true });
}
print(`\n${Math.round((Date.now() - began) / 1000)} s`);
