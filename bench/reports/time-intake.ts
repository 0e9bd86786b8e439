import type { Log } from '../../src/log.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { fill } from './fill.ts';
import { compareIntake, withoutReports } from './intake.ts';

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;

/**
 * Times the intake with and without the reports, on two databases that are alike in all else.
 *
 * @returns the figures as text
 */
export async function timeIntake(url: string, receipts: number, rounds: number, log: Log): Promise<string> {
  const admin = openDatabase(url, log, { connections: 1, name: 'bench' });
  const open = (name: string): Database => {
    const own = new URL(url);
    own.pathname = `/${name}`;
    return openDatabase(own.href, log, { connections: 2, name: 'bench' });
  };
  const drop = async () => {
    for (const name of ['with_reports', 'without_reports'])
      await admin.pool.query(`drop database if exists ${name}`);
  };
  await drop();
  await admin.pool.query('create database with_reports');
  const filled = open('with_reports');
  await migrate(filled.db);
  await fill(filled.db, { receipts, days: 100 }, () => {});
  await filled.pool.query('vacuum analyze');
  await filled.close();
  await admin.pool.query('create database without_reports template with_reports');

  const databases = [open('with_reports'), open('without_reports')];
  await withoutReports(databases[1]!);
  const [reporting, plain] = await compareIntake(databases, rounds);
  for (const database of databases) await database.close();
  await drop();
  await admin.close();

  const ratios = reporting!.map((rate, round) => rate / plain![round]!);
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map((ratio) => ratio.toFixed(3));
  return `Callbacks taken in and applied in a second, median of ${rounds} rounds in turns:
  with the reports ${median(reporting!).toFixed(0)}, without ${median(plain!).toFixed(0)}
  ratio ${median(ratios).toFixed(3)} (${least} to ${most})`;
}
