import { type Command, Option } from 'commander';
import { countDeliveries, type ReplayFilter, replayDeliveries } from '../apply/replay.ts';
import type { Environment } from '../config.ts';
import { families } from '../families/index.ts';
import { deliveryStatuses } from '../store/tables.ts';
import { parseMoment, parseUuid } from './arguments.ts';
import { printable } from './printable.ts';
import { startProgress } from './progress.ts';
import { withDatabase } from './with-database.ts';

/** `receiver replay`: applies deliveries again, those that failed unless told otherwise. */
export function addReplayCommand(program: Command, env: Environment): void {
  program
    .command('replay')
    .description('apply deliveries again: those that failed, unless told otherwise')
    .addOption(new Option('--status <status>', 'which ones').choices(deliveryStatuses).default('failed'))
    .addOption(
      new Option('--family <family>', 'only of this family').choices(families.map(({ name }) => name)),
    )
    .option('--event <event>', 'only with this event')
    .option('--business-id <id>', 'only of this business')
    .option('--id <uuid>', 'only this one', parseUuid)
    .option('--since <time>', 'only those received at this time or later', parseMoment)
    .option('--until <time>', 'only those received before this time', parseMoment)
    .option('--dry-run', 'only say what would happen: every change is rolled back')
    .action(({ dryRun = false, ...filter }: ReplayFilter & { dryRun?: boolean }) =>
      withDatabase(env, async ({ database }) => {
        const progress = startProgress('replayed', await countDeliveries(database.db, filter));
        let [applied, changed, failed] = [0, 0, 0];
        for await (const part of replayDeliveries(database.db, families, filter, { dryRun })) {
          applied += part.applied;
          changed += part.changed;
          failed += part.failed.length;
          for (const { id, error } of part.failed.slice(0, 20))
            process.stderr.write(`${id} ${printable(error)}\n`);
          progress.advance(part.applied + part.failed.length);
        }
        progress.stop();
        const would = dryRun ? 'would be ' : '';
        process.stdout.write(`${applied} ${would}applied, ${changed} rows ${would}changed, ${failed} fail\n`);
      }),
    );
}
