import { Option } from 'commander';
import { parseTime, parseUuid } from '../common/arguments.ts';
import { describeGroup, print, printTable, withProgress } from '../common/output.ts';
import { printable } from '../common/printable.ts';
import type { Environment } from '../config/config.ts';
import { families } from '../families/index.ts';
import { createIntake } from '../intake/intake.ts';
import { listQuarantine } from '../intake/list-quarantine.ts';
import { databaseCircuit } from '../intake/probe-inbox.ts';
import {
  countQuarantine,
  dropQuarantine,
  type QuarantineFilter,
  readQuarantine,
} from '../intake/quarantine-rows.ts';
import { adviceOn, replayQuarantine } from '../intake/replay-quarantine.ts';
import { withoutHealthRecords } from '../intake/secrets.ts';
import { patientsNamedIn } from '../intake/subject-of-body.ts';
import { quarantineReasons } from '../store/tables.ts';
import { type AddCommand, logCommand, type Opened, onDatabase, withDatabase } from './with-database.ts';

export const addQuarantineCommand: AddCommand = (program, env) => {
  const quarantine = program
    .command('quarantine')
    .description('rejected callbacks that had passed the access checks');
  const sub = (name: string, description: string) =>
    quarantine
      .command(name)
      .description(description)
      .option('--id <uuid>', 'only this one', parseUuid)
      .option('--path <path>', 'only those received at this path')
      .addOption(new Option('--reason <reason>', 'only with this reason').choices(quarantineReasons))
      .option('--since <time>', 'only those last received at this time or later', parseTime)
      .option('--until <time>', 'only those last received before this time', parseTime);

  sub('list', 'list them, last received first')
    .option('--limit <n>', 'maximum number of rows', Number, 100)
    .option('--replayed', 'include replayed ones')
    .action(onDatabase(env, list));
  sub('show', 'print their bodies (personal data); control characters are escaped')
    .option('--replayed', 'include replayed ones')
    .option('--raw', 'the bytes as received; not for a terminal')
    .action(onDatabase(env, show));
  sub('replay', 'validate them again with the current schemas and accept the valid ones')
    .option('--dry-run', 'show the result without changing anything')
    .action(onDatabase(env, replay));
  sub('drop', 'delete them')
    .option('--replayed', 'include replayed ones')
    .option('--all', 'required where no other option selects bodies')
    .action((filter: QuarantineFilter & { all?: true }) => drop(env, filter));
};

async function list(
  { db }: Opened,
  { limit, ...filter }: QuarantineFilter & { limit: number },
): Promise<void> {
  const rows = (await listQuarantine(db, filter, limit)).rows.map((row) => {
    const faults = row.errors.map(({ path, message }) => `${path} ${message}`.trim()).join('\n');
    const { id, path, reason, count, last_received_at, replayed_at } = row;
    return [id, path, reason, faults, count, last_received_at, replayed_at, row.acknowledged ? 'yes' : ''];
  });
  const total = await countQuarantine(db, filter);
  printTable(['id', 'path', 'reason', 'errors', 'count', 'last received', 'replayed', 'acknowledged'], rows);
  print(`${total} in total`);
}

async function show({ db }: Opened, { raw, ...filter }: QuarantineFilter & { raw?: true }): Promise<void> {
  const patients = new Set<string>();
  const logged = new Set<string>();
  for await (const { id, body } of readQuarantine(db, filter)) {
    logged.add(id);
    for (const patient of patientsNamedIn(body)) patients.add(patient);
  }
  await logCommand(db, { action: 'body', patients: [...patients], filter: { ...filter }, rows: logged.size });
  for await (const row of readQuarantine(db, filter)) {
    // It came after the entry was written.
    if (!logged.has(row.id)) continue;
    print(printable(`# ${row.id} ${row.path} ${row.reason}`));
    process.stdout.write(raw ? row.body : printable(withoutHealthRecords(row.body)));
    print('');
  }
}

async function replay(
  { config, db, pool, log }: Opened,
  { dryRun = false, ...filter }: QuarantineFilter & { dryRun?: boolean },
): Promise<void> {
  // No job is made: the worker's sweep finds replayed deliveries within seconds.
  const intake = createIntake({ config, families, pool, circuit: databaseCircuit(pool, { log }), log });
  const rows = await countQuarantine(db, filter);
  if (!dryRun) await logCommand(db, { action: 'quarantine replay', filter: { ...filter }, rows });
  const outcome = await withProgress('replayed', rows, ({ advance }) =>
    replayQuarantine(db, filter, intake, { dryRun, onProgress: advance }),
  );
  await intake.close();
  const { accepted, duplicates, notStored, rejected, reasons } = outcome;
  for (const group of reasons) print(`rejected: ${describeGroup(group)}`);
  const others = notStored > 0 ? `, ${notStored} not stored` : '';
  const suffix = dryRun ? ' (dry run: nothing was changed)' : '';
  print(`${accepted} accepted, ${duplicates} of them duplicates${others}, ${rejected} rejected${suffix}`);
  const advice = dryRun && adviceOn(outcome);
  if (advice) print(advice);
}

function drop(env: Environment, { all, ...filter }: QuarantineFilter & { all?: true }): Promise<void> {
  const narrowed = filter.id ?? filter.path ?? filter.reason ?? filter.since ?? filter.until;
  if (!narrowed && !all) throw new Error('Select the bodies to delete, or use --all.');
  return withDatabase(env, async ({ db }) => {
    const dropped = await db.transaction().execute(async (trx) => {
      const rows = await dropQuarantine(trx, filter);
      await logCommand(trx, { action: 'quarantine drop', filter: { ...filter }, rows });
      return rows;
    });
    print(`${dropped} dropped`);
  });
}
