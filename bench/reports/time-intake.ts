import type { Log } from '../../src/common/log.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import type { SessionSettings } from '../../src/store/transaction-settings.ts';
import { planForAnySize } from '../../src/store/transaction-settings.ts';
import { fill } from './fill.ts';
import { compareIntake, type Intake } from './intake.ts';
import { withoutReports } from './without-reports.ts';

const names = ['with_reports', 'without_reports', 'without_reports_too'];

/**
 * Times the intake with and without the reports, on three databases that are otherwise equal. The third equals the
 * second: their difference is noise.
 *
 * @returns the figures as a table
 */
export async function timeIntake(
  url: string,
  receipts: number,
  batches: number,
  log: Log,
): Promise<string[][]> {
  const admin = openDatabase(url, log, { connections: 1, name: 'bench' });
  const open = (name: string, settings?: SessionSettings): Database => {
    const own = new URL(url);
    own.pathname = `/${name}`;
    return openDatabase(own.href, log, { connections: 2, name: 'bench', ...(settings && { settings }) });
  };
  const drop = async () => {
    for (const name of names) await admin.pool.query(`drop database if exists ${name}`);
  };
  await drop();
  await admin.pool.query('create database with_reports');
  const filled = open('with_reports');
  await migrate(filled.db);
  await fill(filled.db, { receipts, days: 100 }, () => {});
  await filled.pool.query('vacuum analyze');
  await filled.close();
  for (const name of names.slice(1)) {
    await admin.pool.query(`create database ${name} template with_reports`);
    const database = open(name);
    await withoutReports(database);
    await database.close();
  }

  const sides = names.map((name) => open(name, planForAnySize));
  const intakes = await compareIntake(sides, batches);
  for (const side of sides) await side.close();
  await drop();
  await admin.close();
  return tableOf(intakes);
}

function tableOf([reporting, plain, again]: Intake[]): string[][] {
  const line = (title: string, ms: (one: Intake) => number) => {
    const percent = (one: Intake) => `${((100 * ms(plain!)) / ms(one)).toFixed(1)} %`;
    const times = [plain!, reporting!].map((one) => ms(one).toFixed(2));
    return [title, ...times, percent(reporting!), percent(again!)];
  };
  return [
    ['a hundred callbacks', 'ms without reports', 'ms with', 'throughput', 'without, once more'],
    line('until they are durable', ({ insertMs }) => insertMs),
    line('from there to their rows', ({ applyMs }) => applyMs),
    line('both', ({ insertMs, applyMs }) => insertMs + applyMs),
  ];
}
