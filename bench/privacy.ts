import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SingleBar } from 'cli-progress';
import { Command } from 'commander';
import { applyDeliveries } from '../src/apply/apply.ts';
import { createLog } from '../src/common/log.ts';
import { families } from '../src/families/index.ts';
import { identify } from '../src/intake/identity.ts';
import { insertDeliveries } from '../src/intake/insert-deliveries.ts';
import { erasePatient } from '../src/privacy/erasure/erase.ts';
import { withPatient, zipPatient } from '../src/privacy/export.ts';
import { type Database, openDatabase } from '../src/store/database.ts';
import { startEmbeddedPostgres } from '../src/store/embedded/index.ts';
import { migrate } from '../src/store/migrate.ts';
import { positive } from './options.ts';
import { describeSetting } from './report/setting.ts';
import { writeReport } from './report/write.ts';
import { fill } from './reports/fill.ts';

interface Options {
  folder: string;
  deliveries: number;
  days: number;
  patients: number;
  keep: boolean;
  results: string;
}

const { folder, deliveries, days, patients, keep, results } = new Command('bench:privacy')
  .description('Fills a database and times the export and the erasure of patients')
  .option(
    '--folder <folder>',
    'folder of the database; a filled one is used again',
    join(tmpdir(), 'bench-privacy'),
  )
  .option('--deliveries <number>', 'number of deliveries', positive, 5_000_000)
  .option('--days <number>', 'number of days', positive, 365)
  .option('--patients <number>', 'patients that are exported and erased', positive, 20)
  .option('--keep', 'keep the database for the next run', false)
  .option('--results <folder>', 'folder for the table', 'bench/results')
  .parse()
  .opts<Options>();

const log = createLog('warn');
const settings = ['shared_buffers=1GB', 'max_wal_size=4GB'];
// A receipt has 1.32 deliveries, and a fifth of a consent form or review request.
const deliveriesPerReceipt = 1.52;
// Another in each run: an erased one does not come back.
const heavy = `patient-${Date.now()}`;

async function fillOnce({ pool, db }: Database): Promise<void> {
  const { rows } = await pool.query('select from receipts limit 1');
  if (rows.length > 0) return;
  const receipts = Math.round(deliveries / deliveriesPerReceipt);
  const format =
    '{bar} day {value} of {total}, {done} deliveries, {duration_formatted}, {eta_formatted} left';
  const bar = new SingleBar({ format, noTTYOutput: true, notTTYSchedule: 10_000 });
  bar.start(days, 0, { done: 0 });
  await fill(db, { receipts, days }, (day, done) => bar.update(day, { done }));
  bar.stop();
  await pool.query('vacuum analyze');
}

async function addHeavyPatient({ pool, db }: Database): Promise<void> {
  const made = Array.from({ length: 1_000 }, (_, index) => {
    const data = {
      receipt_id: 9e12 + (index >> 1),
      patient_oid: heavy,
      name: 'Asha Sample',
      net_amount: index,
    };
    const event_time = Math.floor(Date.now() / 1000) - index;
    const envelope = {
      event: 'receipt.updated',
      event_time,
      timestamp: 0,
      client_id: 'c',
      business_id: 'b',
      data,
    };
    return {
      id: identify(envelope as never),
      family: 'receipt',
      body: Buffer.from(JSON.stringify(envelope)),
    };
  });
  await insertDeliveries(pool, made);
  await applyDeliveries(
    db,
    families,
    made.map(({ id }) => id),
  );
}

async function timed<T>(run: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const began = performance.now();
  const result = await run();
  return { ms: performance.now() - began, result };
}

const actor = { id: 'bench' };
const server = await startEmbeddedPostgres(folder, log, settings);
const database = openDatabase(server.url, log, { connections: 3, name: 'bench' });
try {
  await migrate(database.db);
  await fillOnce(database);
  await addHeavyPatient(database);
  const { rows } = await database.pool.query<{ id: string }>(
    `select distinct envelope #>> '{data,patient_oid}' as id
     from inbox tablesample system (${Math.min(100, (patients * 10_000) / deliveries)}) where family = 'receipt' and business_id <> 'b' limit $1`,
    [patients],
  );
  const measured: { erase: number; export: number }[] = [];
  for (const id of [...rows.map((row) => row.id), heavy]) {
    const exporting = await timed(() =>
      withPatient(database.db, families, { id }, async (held) => {
        for await (const _ of zipPatient(held));
      }),
    );
    const options = { actor, keepMs: 1e12, keepsTotals: true };
    const erasing = await timed(() => erasePatient(database.db, families, { id }, options));
    if (!(erasing.result.counts.deliveries! >= (id === heavy ? 1_000 : 1)))
      throw new Error(`Too little was erased: ${JSON.stringify(erasing.result.counts)}`);
    measured.push({ export: exporting.ms, erase: erasing.ms });
  }
  const last = measured.pop()!;
  const line = (name: 'export' | 'erase', goalMs: number) => {
    const sorted = measured.map((one) => one[name]).sort((a, b) => a - b);
    const [median, most] = [sorted[sorted.length >> 1]!, sorted.at(-1)!];
    return [name, ...[median, most, last[name]].map((ms) => ms.toFixed(0)), String(goalMs)];
  };
  const total = await database.pool.query<{ n: string }>('select count(*) as n from inbox');
  const { rows: version } = await database.pool.query<{ server_version: string }>('show server_version');
  const file = writeReport(results, {
    name: 'privacy',
    setting: {
      ...describeSetting({ postgres: `${version[0]!.server_version}, ${settings[0]}` }),
      deliveries: total.rows[0]!.n,
    },
    tables: [
      [
        ['ms', `median of ${measured.length} patients`, 'slowest', 'a patient with 1,000 deliveries', 'goal'],
        line('export', 2_000),
        line('erase', 1_000),
      ],
    ],
  });
  process.stdout.write(`Written to ${file}\n`);
} finally {
  await database.close();
  await server.stop();
  if (!keep) rmSync(folder, { recursive: true, force: true });
}
