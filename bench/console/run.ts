import { rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { createLog } from '../../src/common/log.ts';
import { openDatabase } from '../../src/store/database.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/index.ts';
import { migrate } from '../../src/store/migrate.ts';
import { startScript } from '../contenders/contender.ts';
import { positive } from '../options.ts';
import { startProgram } from '../process/program.ts';
import { describeSetting } from '../report/setting.ts';
import { writeReport } from '../report/write.ts';
import { fill } from '../reports/fill.ts';
import { crawl, type TimedPage } from './crawl.ts';

const days = 730;
/** A receipt has this many callbacks, those of consent forms and review requests included. */
const deliveriesPerReceipt = 1.52;

const options = new Command('bench:console')
  .description('Fills a database and times the first byte of every kind of page of the console')
  .option(
    '--folder <folder>',
    'folder of the database; a filled one is used again',
    join(tmpdir(), 'bench-console'),
  )
  .option('--deliveries <number>', 'number of deliveries', positive, 5_000_000)
  .option('--runs <number>', 'visits of each page', positive, 5)
  .option('--keep', 'keep the database for the next run', false)
  .option('--results <folder>', 'folder for the tables', 'bench/results')
  .parse()
  .opts<{ folder: string; deliveries: number; runs: number; keep: boolean; results: string }>();

const adminToken = 'an-admin-token-of-the-bench';
const log = createLog('warn');
const print = (text: string) => process.stdout.write(`${text}\n`);
const server = await startEmbeddedPostgres(options.folder, log, ['shared_buffers=1GB', 'max_wal_size=4GB']);
const database = openDatabase(server.url, log, { connections: 4, name: 'bench' });
try {
  const { db, pool } = database;
  await migrate(db);
  const { rows: filled } = await pool.query('select from receipts limit 1');
  if (filled.length === 0) {
    const receipts = Math.round(options.deliveries / deliveriesPerReceipt);
    await fill(db, { receipts, days }, (day, deliveries) => {
      if (day % 10 === 0) print(`day ${day} of ${days}: ${deliveries} deliveries`);
    });
    await pool.query('vacuum analyze');
  }
  const { rows } = await pool.query<Record<string, string>>(`
    select (select count(*) from applied_deliveries)::text as deliveries, current_setting('server_version') as version,
      receipt_id::text as receipt, business_id as business, mobile, patient_oid as patient, aid, delivery_id::text as id
    from receipts where receipt_id = (select max(receipt_id) / 2 from receipts)`);
  const { deliveries, version, ...one } = rows[0]!;
  const receiver = await startProgram(['sh', startScript], {
    ROLE: 'receiver',
    PORT: '0',
    DATABASE_URL: server.url,
    ADMIN_TOKEN: adminToken,
    SIGNING_KEYS: 'bench-signing-key',
  });
  try {
    const signIn = await fetch(`${receiver.url}/console/sign-in`, {
      method: 'POST',
      body: new URLSearchParams({ token: adminToken }),
      redirect: 'manual',
    });
    const cookie = signIn.headers.get('set-cookie')!.split(';')[0]!;
    const searches = [one.receipt, one.mobile, one.patient, one.aid, one.id, 'Asha Sample 7'];
    const begin = [
      '/console',
      ...searches.map((text) => `/console/search?${new URLSearchParams({ q: text! })}`),
      `/console/records/receipt?${new URLSearchParams({ business: one.business!, id: one.receipt! })}`,
    ];
    const timed = await crawl(receiver.url, cookie, begin, options.runs, ({ ms, wholeMs, path, status }) =>
      print(`${ms.toFixed(0).padStart(6)} ms  ${wholeMs.toFixed(0).padStart(6)} ms  ${status}  ${path}`),
    );
    const line = ({ kind, status, ms, wholeMs, isPartial }: TimedPage) => [
      kind,
      String(status),
      ms.toFixed(0),
      `${wholeMs.toFixed(0)}${isPartial ? ', without what timed out' : ''}`,
    ];
    const slowestBy = (time: (page: TimedPage) => number) => [
      ['page', 'status', 'first byte, ms', 'whole page, ms'],
      ...timed
        .toSorted((one, other) => time(other) - time(one))
        .slice(0, 15)
        .map(line),
    ];
    const file = writeReport(options.results, {
      name: 'console',
      setting: {
        ...describeSetting({ postgres: version! }),
        deliveries: deliveries!,
        pages: String(timed.length),
        'load average after': loadavg()[0]!.toFixed(1),
      },
      tables: [slowestBy(({ ms }) => ms), slowestBy(({ wholeMs }) => wholeMs)],
    });
    print(`Written to ${file}`);
  } finally {
    await receiver.stop();
  }
} finally {
  await database.close();
  await server.stop();
  if (!options.keep) rmSync(options.folder, { recursive: true, force: true });
}
