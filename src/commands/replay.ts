import { Option } from 'commander';
import { adviceOn, countDeliveries, type ReplayFilter, replayDeliveries } from '../apply/replay.ts';
import { families } from '../families/index.ts';
import { checkAllStates, countUnsettled } from '../privacy/check-states.ts';
import type { MovedSum } from '../privacy/refold.ts';
import { countRecords, markMovedRead, readMoved, refoldAll } from '../privacy/refold-pass.ts';
import { deliveryStatuses } from '../store/tables.ts';
import { parseTime, parseUuid } from './arguments.ts';
import { describeGroup, print, printTable, withProgress } from './output.ts';
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
    .addOption(
      new Option(
        '--fields',
        'make every row anew from its callbacks, as a worker does after an upgrade',
      ).conflicts(['status', 'family', 'event', 'businessId', 'id', 'since', 'until']),
    )
    .option('--moved', 'with --fields: only show which sums of past days have changed, until --read')
    .option('--read', 'with --fields: somebody has seen these sums; nothing mentions them any more')
    .option('--dry-run', 'show the result without changing anything')
    .action(onDatabase(env, run));
};

interface FieldsOptions {
  fields?: true;
  moved?: true | undefined;
  read?: true | undefined;
  dryRun?: boolean;
}

function run(
  opened: Opened,
  { fields, moved, read, ...options }: ReplayFilter & FieldsOptions,
): Promise<void> {
  if (!fields && (moved || read)) throw new Error('--moved and --read go with --fields');
  return fields ? replayFields(opened, { moved, read, ...options }) : replay(opened, options);
}

async function replayFields({ db }: Opened, { moved, read, dryRun = false }: FieldsOptions): Promise<void> {
  if (moved || read) {
    const unread = await readMoved(db);
    printMoved(unread.moved);
    print(`${unread.unmended} records may lack what an older callback said`);
    if (read) await markMovedRead(db);
    return;
  }
  const total = await countRecords(db, families);
  if (!dryRun) await logCommand(db, { action: 'replay', filter: { fields: true }, rows: total });
  const done = await withProgress('looked at', total, ({ advance }) =>
    refoldAll(db, families, { dryRun, onStep: advance }),
  );
  printMoved(done.moved);
  print(
    `${done.changed} of ${done.records} records ${dryRun ? 'would be ' : ''}made anew, ` +
      `${done.unmended} may lack what an older callback said: its body is reduced`,
  );
}

/** The amounts of the receipts that were made anew, by the day on which they were issued. */
function printMoved(moved: readonly MovedSum[]): void {
  if (moved.length === 0) {
    print('No sums of past days have changed');
    return;
  }
  const amounts = ['net', 'paid', 'due'] as const;
  const columns = amounts.flatMap((name) => [`${name}_before`, `${name}_after`] as const);
  printTable(
    ['day', 'business', ...columns.map((column) => column.replace('_', ' '))],
    moved.map((sum) => [sum.day, sum.business_id, ...columns.map((column) => sum[column])]),
  );
}

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
