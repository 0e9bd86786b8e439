import { Option } from 'commander';
import { adviceOn, countDeliveries, type ReplayFilter, replayDeliveries } from '../apply/replay.ts';
import { families } from '../families/index.ts';
import { deliveryStatuses } from '../store/tables.ts';
import { parseTime, parseUuid } from './arguments.ts';
import { describeGroup, print, withProgress } from './output.ts';
import { type AddCommand, logCommand, type Opened, onDatabase } from './with-database.ts';

export const addReplayCommand: AddCommand = (program, env) => {
  program
    .command('replay')
    .description(
      'apply deliveries again, by default the failed ones; with --family other, those whose event is known by now',
    )
    .addOption(
      new Option('--status <status>', 'only with this status (default: failed)').choices(deliveryStatuses),
    )
    .addOption(
      new Option('--family <family>', 'only of this family').choices(families.map(({ name }) => name)),
    )
    .option('--event <event>', 'only with this event')
    .option('--business-id <id>', 'only of this business')
    .option('--id <uuid>', 'only this one', parseUuid)
    .option('--since <time>', 'only those received at this time or later', parseTime)
    .option('--until <time>', 'only those received before this time', parseTime)
    .option('--dry-run', 'show the result without changing anything')
    .action(onDatabase(env, replay));
};

async function replay(
  { db }: Opened,
  { dryRun = false, ...filter }: ReplayFilter & { dryRun?: boolean },
): Promise<void> {
  const rows = await countDeliveries(db, families, filter);
  if (!dryRun) await logCommand(db, { action: 'replay', filter: { ...filter }, rows });
  const outcome = await withProgress('replayed', rows, ({ advance }) =>
    replayDeliveries(db, families, filter, { dryRun, onProgress: advance }),
  );
  const { applied, changed, failed, errors } = outcome;
  for (const group of errors) process.stderr.write(`failed: ${describeGroup(group)}\n`);
  const would = dryRun ? 'would be ' : '';
  print(`${applied} ${would}applied, ${changed} rows ${would}changed, ${failed} fail`);
  const advice = dryRun && adviceOn(filter, outcome);
  if (advice) print(advice);
}
