import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { tableOf } from '../common/printable.ts';
import type { Environment } from '../config/config.ts';
import { families } from '../families/index.ts';
import { type PolicyOutcome, pauseFor, runRetention } from '../privacy/retention/retention.ts';
import { withAdvisoryLock } from '../store/advisory-lock.ts';
import { commandActor } from './actor.ts';
import { startProgress } from './progress.ts';
import { withDatabase } from './with-database.ts';

/** `receiver retention`: applies retention. */
export function addRetentionCommand(program: Command, env: Environment): void {
  program
    .command('retention')
    .description('delete what is older than RETENTION keeps, as the worker does once a day')
    .option('--dry-run', 'count what would be deleted, without deleting anything')
    .action(({ dryRun = false }: { dryRun?: boolean }) =>
      withDatabase(env, async ({ config, database: { db } }) => {
        // An interrupted pass ends after its step, and is logged.
        const interrupted = new AbortController();
        for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => interrupted.abort());
        const { advance, stop } = startProgress(undefined, dryRun ? 'rows counted' : 'rows deleted');
        const outcomes = await withAdvisoryLock(db, 'retention', () =>
          runRetention(db, families, config.retention, {
            actor: commandActor(),
            dryRun,
            onStep: (_, rows) => advance(rows),
            pause: (ms) => sleep(pauseFor(ms), undefined, { signal: interrupted.signal }),
          }),
        );
        stop();
        if (!outcomes) throw new Error('Another process is deleting at the moment. Try again later.');
        process.stdout.write(`${describe(outcomes, dryRun)}\n`);
      }),
    );
}

function describe(outcomes: readonly PolicyOutcome[], dryRun: boolean): string {
  const rows = outcomes.flatMap(({ policy, cutoff, deleted }) => {
    const counts = Object.entries(deleted).filter(([, count]) => count > 0);
    return (counts.length > 0 ? counts : [['', 0]]).map(([table, count]) => [
      policy,
      cutoff.toISOString(),
      String(table),
      String(count),
    ]);
  });
  return tableOf(['policy', 'older than', 'table', dryRun ? 'would be deleted' : 'deleted'], rows);
}
