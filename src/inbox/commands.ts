import { type Command, Option } from 'commander';
import { readableBody } from '../callbacks/health-contents.ts';
import {
  note,
  parseCount,
  parseUuid,
  print,
  printable,
  printTable,
  withProgress,
} from '../common/terminal.ts';
import type { Core, OnCore } from '../receiver/feature.ts';
import { commandActor, logAccess } from '../receiver/store/log-access.ts';
import { rebuildRows } from '../receiver/worker/rebuild.ts';
import { isOneOf, replayDeliveries } from './list-deliveries.ts';
import { listQuarantine, readQuarantined, replayQuarantined } from './replay.ts';
import { printQuery } from './sql.ts';

const uuids = (text: string, others: string[] = []) => [...others, parseUuid(text)];

export function addInboxCommands(program: Command, onCore: OnCore): void {
  program
    .command('replay')
    .description('merge callbacks again: those that failed, or the given ones')
    .argument('[ids...]', 'of callbacks', uuids, [])
    .option('--family <name>', 'only of this family')
    .action(onCore(replay));
  program
    .command('rebuild')
    .description(
      'read all stored callbacks again by the current rules, and merge them; beside a running receiver',
    )
    .action(onCore(rebuild));
  program
    .command('sql')
    .description('run a statement on the receiver’s database, read-only, and print its rows')
    .argument('[statement]', 'default: list the views that can be read')
    .option('--json', 'print one JSON object per line instead of a table; a second column a becomes a_2')
    .addOption(new Option('--csv', 'print a file for spreadsheets').conflicts('json'))
    .action(onCore(printQuery));
  addQuarantineCommands(program, onCore);
}

async function replay(core: Core, ids: string[], { family }: { family?: string }): Promise<void> {
  if (family !== undefined && !core.families.some(({ name }) => name === family))
    throw new Error(`--family must be one of ${core.families.map(({ name }) => name).join(', ')}`);
  const selected = ids.length > 0 ? ids : undefined;
  const filter = { family, given: selected?.length };
  await logAccess(core, { actor: commandActor(), action: 'replay', filter });
  const { length: count } = await replayDeliveries(core.db, { family, ids: selected });
  print(`${count} ${count === 1 ? 'waits' : 'wait'} for a worker`);
  const unknown = selected ? new Set(selected).size - count : 0;
  if (unknown > 0)
    print(
      `${unknown} of the ids ${unknown === 1 ? 'is' : 'are'} of no stored callback${family ? ' of this family' : ''}`,
    );
}

async function rebuild(core: Core): Promise<void> {
  const count = core.db.selectFrom('receiver.inbox').select((row) => row.fn.countAll<string>().as('all'));
  const { all } = await count.executeTakeFirstOrThrow();
  const counts = await withProgress('callbacks read', Number(all), ({ advance }) =>
    rebuildRows(core, advance),
  );
  printTable(['rebuild', 'number'], Object.entries(counts));
}

function addQuarantineCommands(program: Command, onCore: OnCore): void {
  const group = program
    .command('quarantine')
    .description('callbacks that were refused behind the access checks');
  const sub = (name: string, description: string) => group.command(name).description(description);
  sub('list', 'list those that were not replayed, the last received first')
    .option('--limit <n>', 'maximum number of rows', parseCount, 100)
    .action(onCore(list));
  sub('show', 'print a body').argument('<id>', 'of a body', parseUuid).action(onCore(show));
  sub('replay', 'receive them again, with the families and filters of now; those refused again stay')
    .argument('[ids...]', 'of bodies', uuids, [])
    .option('--all', 'all bodies')
    .option('--dry-run', 'show the result, and change nothing')
    .action(onCore(replayBodies));
  sub('drop', 'delete them for good, also acknowledged ones')
    .argument('<ids...>', 'of bodies', uuids)
    .action(onCore(drop));
}

async function list({ db }: Core, { limit }: { limit: number }): Promise<void> {
  const rows = (await listQuarantine(db, { limit })).map((row) => [
    row.id,
    row.path,
    row.business_id,
    row.reason,
    row.errors.map(({ path, message }) => `${path} ${message}`.trim()).join('\n'),
    row.count,
    row.last_received_at,
    row.acknowledged ? 'yes' : '',
  ]);
  printTable(['id', 'path', 'business', 'reason', 'errors', 'count', 'last received', 'acknowledged'], rows);
}

async function show(core: Core, id: string): Promise<void> {
  const row = await readQuarantined(core, id);
  const entry = { action: 'body', subjects: row?.subjects ?? [], filter: { id }, rows: row ? 1 : 0 };
  await logAccess(core, { actor: commandActor(), ...entry });
  if (!row) throw new Error('This id is not in the quarantine');
  note(`${id} ${row.path} ${row.reason}`);
  print(printable(readableBody(row.body.toString())));
}

async function replayBodies(
  core: Core,
  given: string[],
  { all = false, dryRun = false }: { all?: boolean; dryRun?: boolean },
): Promise<void> {
  if (given.length > 0 === all) throw new Error('Give the ids of bodies, or --all');
  const ids = all ? (await listQuarantine(core.db)).map(({ id }) => id) : given;
  if (!dryRun)
    await logAccess(core, { actor: commandActor(), action: 'quarantine replay', rows: ids.length });
  const results = await withProgress('replayed', ids.length, ({ advance }) =>
    replayQuarantined(core, ids, { dryRun, onProgress: advance }),
  );
  const rows = [...results].map(([id, result]) => {
    return [id, result.outcome, result.outcome === 'rejected' ? result.rejection.describe() : result.id];
  });
  printTable(['body', 'result', 'delivery or reason'], rows);
  const unknown = ids.filter((id) => !results.has(id));
  if (unknown.length > 0) print(`Not in the quarantine, or accepted since: ${unknown.join(', ')}`);
  if (dryRun) print('Dry run: nothing was changed.');
}

async function drop(core: Core, ids: string[]): Promise<void> {
  await logAccess(core, { actor: commandActor(), action: 'quarantine drop', rows: ids.length });
  const { numDeletedRows } = await core.db
    .deleteFrom('receiver.quarantine')
    .where(isOneOf(ids))
    .executeTakeFirst();
  print(`${numDeletedRows} dropped`);
}
