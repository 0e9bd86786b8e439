import { setTimeout as sleep } from 'node:timers/promises';
import { createLeases } from '../store/lease.ts';
import {
  businessesWithSums,
  kindsOfSums,
  leaseOfSums,
  outdateSums,
  updateSums,
} from '../store/reporting/daily-sums.ts';
import { findWrongSums, forgetWrongSums } from '../store/reporting/wrong-sums.ts';
import { parseDay } from './arguments.ts';
import { print, withProgress } from './output.ts';
import { type AddCommand, type Opened, onDatabase } from './with-database.ts';

/** Until a worker that updates the same sums has ended its step. */
const busyMs = 200;

interface Selection {
  business?: string;
  since?: string;
}

export const addReportsCommand: AddCommand = (program, env) => {
  const reports = program
    .command('reports')
    .description('the sums that are kept for the daily views, such as receipts_daily');
  const business = ['--business <id>', 'only of this business'] as const;
  reports
    .command('check')
    .description('compare the kept sums with the rows; exit code 1 if one is wrong')
    .option(...business)
    .option('--since <day>', 'only this day, such as 2026-01-31, and later ones', parseDay)
    .action(onDatabase(env, check));
  reports
    .command('rebuild')
    .description('make the kept sums again; callbacks are accepted, and reports are right, meanwhile')
    .option(...business)
    .action(onDatabase(env, rebuild));
};

async function check({ db }: Opened, { business, since }: Selection): Promise<void> {
  const selected = await Promise.all(
    kindsOfSums.map(async (sums) => {
      const businesses = business === undefined ? await businessesWithSums(db, sums) : [business];
      return businesses.map((one) => ({ sums, one }));
    }),
  );
  const wrong: string[] = [];
  await withProgress('businesses checked', selected.flat().length, async ({ advance }) => {
    for (const { sums, one } of selected.flat()) {
      const days = await findWrongSums(db, sums, one, since);
      wrong.push(...days.map(({ day }) => `wrong: ${sums} of business ${one} on ${day}`));
      advance();
    }
  });
  if (wrong.length === 0) return print('The kept sums are those of the rows.');
  print([...wrong, `${wrong.length} days have wrong sums. Run: receiver reports rebuild`].join('\n'));
  process.exitCode = 1;
}

async function rebuild({ db, log }: Opened, { business }: Selection): Promise<void> {
  await withProgress('businesses rebuilt', undefined, async ({ setTotal, advance }) => {
    const leases = createLeases(db, { log });
    let total = 0;
    for (const sums of kindsOfSums) {
      await outdateSums(db, sums, business);
      total += business === undefined ? (await businessesWithSums(db, sums)).length : 1;
    }
    setTotal(total);
    for (const sums of kindsOfSums) {
      for (let hasMore = true; hasMore; ) {
        const updated = await leases.run(leaseOfSums(sums), ({ fence }) => updateSums(db, sums, fence));
        advance(updated?.businesses ?? 0);
        hasMore = updated?.hasMore ?? true;
        if (!updated || updated.isBusy) await sleep(busyMs);
      }
    }
  });
  if (business === undefined) await forgetWrongSums(db);
  print('The kept sums were made again.');
}
