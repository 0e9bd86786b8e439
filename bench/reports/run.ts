import { loadavg } from 'node:os';
import { findPlace } from '../../src/store/embedded/place.ts';
import { makeSuperuser } from '../../test/support/cluster.ts';
import { withFilledDatabase } from '../filled.ts';
import { type FilledOptions, filledCommand } from '../options.ts';
import { describeSetting } from '../report/setting.ts';
import { writeReport } from '../report/write.ts';
import { timeIntake } from './time-intake.ts';
import { tableOf, timeReports } from './time-reports.ts';

// Settings that speed up the filling.
const settings = ['wal_level=minimal', 'max_wal_senders=0', 'maintenance_work_mem=512MB'];

const print = (text: string) => process.stdout.write(`${text}\n`);
const load = () => loadavg()[0]!.toFixed(1);

const options = filledCommand(
  'bench:reports',
  'Fills a database and times every report, then the intake with and without their indexes and versions',
  { receipts: 5_000_000, days: 730 },
)
  .option('--batches <number>', 'timed batches of callbacks; 0: none', Number, 600)
  .parse()
  .opts<FilledOptions & { receipts: number; days: number; batches: number }>();
const { folder, receipts, batches, results } = options;
const began = Date.now();
await withFilledDatabase(
  options,
  options,
  async ({ server, database, version, log }) => {
    await makeSuperuser(findPlace(folder).home, server.url); // it creates databases
    const setting = { ...describeSetting({ postgres: version }), 'load average before': load() };
    const reports = await timeReports(database.pool, print);
    const intake =
      batches > 0 ? [await timeIntake(server.url, Math.min(receipts, 200_000), batches, log)] : [];
    const file = writeReport(results, {
      name: 'reports',
      setting: { ...setting, 'load average after': load() },
      tables: [tableOf(reports), ...intake],
    });
    print(`Written to ${file} after ${Math.round((Date.now() - began) / 1000)} s`);
  },
  settings,
);
