import { Option } from 'commander';
import { adviceOn, countDeliveries, type ReplayFilter, replayDeliveries } from '../apply/replay.ts';
import { parseTime, parseUuid } from '../common/arguments.ts';
import { describeGroup, print, withProgress } from '../common/output.ts';
import { families } from '../families/index.ts';
import { checkAllStates, countUnsettled } from '../privacy/check-states.ts';
import { deliveryStatuses } from '../store/tables.ts';
import { type AddCommand, commandActor, logCommand, type Opened, onDatabase } from './with-database.ts';

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
  { db, config }: Opened,
  { dryRun = false, ...filter }: ReplayFilter & { dryRun?: boolean },
): Promise<void> {
  if (filter.status === 'received') await restoreStates({ db, config }, dryRun);
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

/** What lost its state is received, whatever the filter is: a replay does not find it before it is pending again. */
async function restoreStates({ db, config }: Pick<Opened, 'db' | 'config'>, dryRun: boolean): Promise<void> {
  if (dryRun) {
    const count = await countUnsettled(db);
    if (count > 0) print(`${count} deliveries have no state: they would be pending again`);
    return;
  }
  const found = { requeued: 0, erased: 0, lost: 0 };
  const settings = { actor: commandActor(), ...config.erasure };
  await withProgress('given a state', undefined, ({ advance }) =>
    checkAllStates(db, families, settings, ({ requeued, erased, lost }) => {
      found.requeued += requeued.length;
      found.erased += erased;
      found.lost += lost.length;
      if (requeued.length > 0) advance(requeued.length);
    }),
  );
  if (found.requeued > 0) print(`${found.requeued} deliveries had no state: they are pending again`);
  if (found.erased > 0)
    print(`${found.erased} without a state were about something erased: they are erased, too`);
  if (found.lost > 0) print(`${found.lost} are lost: they are not in inbox. See receiver doctor`);
}
