import { setTimeout as sleep } from 'node:timers/promises';
import { printTable, withProgress } from '../common/output.ts';
import { families } from '../families/index.ts';
import { pauseFor, runRetention } from '../privacy/retention/retention.ts';
import { createLeases } from '../store/lease.ts';
import { type AddCommand, commandActor, type Opened, onDatabase } from './with-database.ts';

export const addRetentionCommand: AddCommand = (program, env) => {
  program
    .command('retention')
    .description('delete what is older than RETENTION keeps, as the worker does once a day')
    .option('--dry-run', 'count what would be deleted, without deleting anything')
    .action(onDatabase(env, applyRetention));
};

async function applyRetention(
  { config, db, log }: Opened,
  { dryRun = false }: { dryRun?: boolean },
): Promise<void> {
  // An interrupted pass ends after its step, and is logged.
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => interrupted.abort());
  const outcomes = await withProgress(dryRun ? 'rows counted' : 'rows deleted', undefined, ({ advance }) =>
    createLeases(db, { log }).run('retention', ({ fence }) =>
      runRetention(db, families, config.retention, {
        actor: commandActor(),
        dryRun,
        onStep: (_, rows) => advance(rows),
        fence,
        pause: (ms) => sleep(pauseFor(ms), undefined, { signal: interrupted.signal }),
      }),
    ),
  );
  if (!outcomes) throw new Error('Another process is deleting at the moment. Try again later.');
  const rows = outcomes.flatMap(({ policy, cutoff, deleted }) => {
    const counts = Object.entries(deleted).filter(([, count]) => count > 0);
    return (counts.length > 0 ? counts : [['', 0] as const]).map((count) => [policy, cutoff, ...count]);
  });
  printTable(['policy', 'older than', 'table', dryRun ? 'would be deleted' : 'deleted'], rows);
}
