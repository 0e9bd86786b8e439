import type { Log } from '../../src/log.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { fill } from './fill.ts';
import { compareIntake, type Intake, withoutReports } from './intake.ts';

/**
 * Times the intake with and without the reports, on two databases that are alike in all else.
 *
 * @returns the figures as text
 */
export async function timeIntake(url: string, receipts: number, batches: number, log: Log): Promise<string> {
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
  const [reporting, plain] = await compareIntake(databases, batches);
  for (const database of databases) await database.close();
  await drop();
  await admin.close();

  const line = (title: string, ms: (one: Intake) => number) =>
    `  ${title}: ${ms(plain!).toFixed(2)} ms without the reports, ${ms(reporting!).toFixed(2)} with them, ` +
    `throughput ${((100 * ms(plain!)) / ms(reporting!)).toFixed(1)} %`;
  return [
    `A hundred callbacks, the median of ${batches} batches in turns`,
    line('until they are durable', ({ insertMs }) => insertMs),
    line('from there to their rows', ({ applyMs }) => applyMs),
    line('both', ({ insertMs, applyMs }) => insertMs + applyMs),
  ].join('\n');
}
