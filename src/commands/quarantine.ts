import Table from 'cli-table3';
import type { Command } from 'commander';
import type { Environment } from '../config.ts';
import { envelopeSchema, families } from '../families/index.ts';
import { createDoor } from '../http/access/access-checks.ts';
import { readmitRows } from '../intake/replay-quarantine.ts';
import { Drift } from '../intake/drift.ts';
import { Inbox } from '../intake/inbox.ts';
import {
  countQuarantine,
  dropQuarantine,
  listQuarantine,
  type QuarantineFilter,
  readQuarantine,
} from '../intake/quarantine-rows.ts';
import { databaseCircuit } from '../store/circuits.ts';
import { parseMoment, parseUuid } from './arguments.ts';
import { printable } from './printable.ts';
import { startProgress } from './progress.ts';
import { withDatabase } from './with-database.ts';

/** `receiver quarantine`: what was refused, and what becomes of it. */
export function addQuarantineCommand(program: Command, env: Environment): void {
  const quarantine = program
    .command('quarantine')
    .description('callbacks that came in through the door but did not fit');
  const sub = (name: string, description: string) =>
    quarantine
      .command(name)
      .description(description)
      .option('--id <uuid>', 'only this one', parseUuid)
      .option('--path <path>', 'only what came in at this path')
      .option('--reason <reason>', 'not_json, invalid, wrong_family or refused_by_database')
      .option('--since <time>', 'only what last came in at this time or later', parseMoment)
      .option('--until <time>', 'only what last came in before this time', parseMoment);

  sub('list', 'list them, oldest first')
    .option('--limit <n>', 'how many at most', Number, 100)
    .option('--replayed', 'also those that were taken in after all')
    .action((filter: QuarantineFilter & { limit: number }) => list(env, filter));
  sub('show', 'print their bodies, which hold personal data; control characters are escaped')
    .option('--replayed', 'also those that were taken in after all')
    .option('--raw', 'their bytes as received, for a file and not for a terminal')
    .action((filter: QuarantineFilter & { raw?: true }) => show(env, filter));
  sub('replay', 'check them again with today’s schemas, and take in those that fit')
    .option('--dry-run', 'only say what would happen')
    .action((filter: QuarantineFilter & { dryRun?: true }) => replay(env, filter));
  sub('drop', 'delete them')
    .option('--replayed', 'also those that were taken in after all')
    .option('--all', 'needed where nothing narrows down what to delete')
    .action((filter: QuarantineFilter & { all?: true }) => drop(env, filter));
}

function list(env: Environment, { limit, ...filter }: QuarantineFilter & { limit: number }): Promise<void> {
  return withDatabase(env, async ({ database }) => {
    const head = [
      'id',
      'came in at',
      'reason',
      'faults',
      'count',
      'last received',
      'replayed',
      'acknowledged',
    ];
    const table = new Table({ head, style: { head: [], border: [] } });
    for (const row of await listQuarantine(database.db, filter, limit)) {
      const faults = row.errors.map(({ path, message }) => `${path} ${message}`.trim()).join('\n');
      const times = [row.last_received_at, row.replayed_at].map((time) => time?.toISOString() ?? '');
      const said = [row.path, row.reason, faults].map(printable);
      table.push([row.id, ...said, row.count, ...times, row.acknowledged ? 'yes' : '']);
    }
    process.stdout.write(`${table.toString()}\n${await countQuarantine(database.db, filter)} in all\n`);
  });
}

function show(env: Environment, { raw, ...filter }: QuarantineFilter & { raw?: true }): Promise<void> {
  return withDatabase(env, async ({ database }) => {
    for await (const row of readQuarantine(database.db, filter)) {
      process.stdout.write(printable(`# ${row.id} ${row.path} ${row.reason}\n`));
      process.stdout.write(raw ? row.body : printable(row.body.toString()));
      process.stdout.write('\n');
    }
  });
}

function replay(
  env: Environment,
  { dryRun, ...filter }: QuarantineFilter & { dryRun?: true },
): Promise<void> {
  return withDatabase(env, async ({ config, database, log }) => {
    const { db, pool } = database;
    // No job is made: the worker's sweep finds what was taken in within seconds.
    const circuit = databaseCircuit(pool, { log });
    const inbox = dryRun ? undefined : new Inbox({ pool, circuit, enqueue: async () => {}, log });
    const door = createDoor({ rules: config.authentication });
    const drift = new Drift(pool, log, families);
    const parts = { families, schema: envelopeSchema(families), door, inbox, drift };
    const progress = startProgress('replayed', await countQuarantine(db, filter));
    const outcomes: Record<string, number> = {};
    const refusals: string[] = [];
    for await (const { quarantineId, result } of readmitRows(db, filter, parts)) {
      if (result.outcome === 'still refused') refusals.push(`${quarantineId} ${result.reason}`);
      outcomes[result.outcome] = (outcomes[result.outcome] ?? 0) + 1;
      progress.advance();
    }
    progress.stop();
    await drift.close();
    for (const refusal of refusals.slice(0, 20))
      process.stdout.write(`still refused: ${printable(refusal)}\n`);
    if (refusals.length > 20) process.stdout.write(`… and ${refusals.length - 20} more\n`);
    const summary = Object.entries(outcomes).map(([outcome, count]) => `${count} ${outcome}`);
    process.stdout.write(`${summary.join(', ') || 'nothing to replay'}\n`);
  });
}

function drop(env: Environment, { all, ...filter }: QuarantineFilter & { all?: true }): Promise<void> {
  const narrowed = filter.id ?? filter.path ?? filter.reason ?? filter.since ?? filter.until;
  if (!narrowed && !all) throw new Error('Say which ones to delete, or --all.');
  return withDatabase(env, async ({ database }) => {
    process.stdout.write(`${await dropQuarantine(database.db, filter)} dropped\n`);
  });
}
