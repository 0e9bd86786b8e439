import { parseDay } from '../common/arguments.ts';
import { print, printTable, withProgress } from '../common/output.ts';
import { families } from '../families/index.ts';
import { createIntake } from '../intake/intake.ts';
import { databaseCircuit } from '../intake/probe-inbox.ts';
import { findBusiness } from '../reconcile/business.ts';
import { findDays } from '../reconcile/due.ts';
import type { Platform } from '../reconcile/platform.ts';
import { type Counts, reconcile } from '../reconcile/reconcile.ts';
import { createLeases } from '../store/lease.ts';
import { type AddCommand, logCommand, type Opened, onDatabase } from './with-database.ts';

/** The days without RECONCILE. */
const defaultDays = 7;

interface Options {
  from?: string;
  to?: string;
  business?: string;
  dryRun?: boolean;
}

/** @param openPlatform loads the client, which no other command needs */
export const addReconcileCommand = (
  ...[program, env, openPlatform]: [...Parameters<AddCommand>, () => Promise<Platform>]
): void => {
  program
    .command('reconcile')
    .description(
      'compare appointments with the platform, and fill what is missing, as the worker does once a day',
    )
    .option('--from <day>', 'the first day (default: as many days ago as RECONCILE says)', parseDay)
    .option('--to <day>', 'the last day (default: today)', parseDay)
    .option('--business <id>', 'the business of the credentials, where the platform does not tell it')
    .option('--dry-run', 'show the result without changing anything')
    .action(onDatabase(env, (opened: Opened, options: Options) => run(opened, options, openPlatform)));
};

async function run(
  { config, db, pool, log }: Opened,
  { dryRun = false, business: given, ...days }: Options,
  openPlatform: () => Promise<Platform>,
): Promise<void> {
  const interrupted = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'])
    process.once(name, () => interrupted.abort(new Error('Interrupted: the same command begins again')));
  const leases = createLeases(db, { log });
  const { isDone: _, ...range } = { ...(await findDays(db, config.reconcile?.days ?? defaultDays)), ...days };
  if (range.from > range.to) throw new Error('--from must not be after --to');
  const platform = await openPlatform();
  const intake = createIntake({ config, families, pool, circuit: databaseCircuit(pool, { log }), log });
  try {
    const business = await findBusiness(db, platform, given, interrupted.signal);
    if (!dryRun) await logCommand(db, { action: 'reconcile', filter: { business, ...range } });
    const counts = await withProgress('appointments compared', undefined, ({ advance }) =>
      leases.run('reconciliation', (lease) => {
        const signal = AbortSignal.any([interrupted.signal, lease.signal]);
        const onProgress = ({ agrees, missing, differs, erased }: Counts) =>
          advance(agrees + missing + differs + erased);
        return reconcile({ db, intake, platform, business, ...range, signal, dryRun, onProgress });
      }),
    );
    if (!counts) throw new Error('Another process is comparing at the moment. Try again later.');
    print(`Business ${business}, ${range.from} to ${range.to}`);
    printTable(
      ['appointments', 'number'],
      [
        ['agree', counts.agrees],
        ['missing', counts.missing],
        ['differ', counts.differs],
        [dryRun ? 'would be filled' : 'filled', dryRun ? counts.missing + counts.differs : counts.filled],
        ['not filled: erased', counts.erased],
        ['changing at the moment', counts.busy],
      ],
    );
  } finally {
    await intake.close();
  }
}
