import { type Command, Option } from 'commander';
import { countDeliveries, type ReplayFilter, replayDeliveries } from '../apply/replay.ts';
import type { Environment } from '../config.ts';
import { families } from '../families/index.ts';
import { deliveryStatuses } from '../store/tables.ts';
import { parseMoment, parseUuid } from './arguments.ts';
import { describeGroup } from './printable.ts';
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
        const { advance, stop } = startProgress('replayed', await countDeliveries(database.db, filter));
        const outcome = await replayDeliveries(database.db, families, filter, {
          dryRun,
          onProgress: advance,
        });
        stop();
        for (const group of outcome.errors) process.stderr.write(`failed: ${describeGroup(group)}\n`);
        const { applied, changed, failed } = outcome;
        const would = dryRun ? 'would be ' : '';
        process.stdout.write(`${applied} ${would}applied, ${changed} rows ${would}changed, ${failed} fail\n`);
      }),
    );
}
