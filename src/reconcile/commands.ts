import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { csvWriter, parseCsv } from '../common/csv.ts';
import { print, printTable, withProgress } from '../common/terminal.ts';
import type { Core, OnCore } from '../receiver/feature.ts';
import { commandActor, logAccess } from '../receiver/store/log-access.ts';
import {
  type Alias,
  aliasKinds,
  changeAliases,
  findAliasFault,
  isAliasKind,
  listAliases,
} from './aliases.ts';
import { lastDays, openClient, runPass } from './pass.ts';

const defaultDays = 7;

export function addReconcileCommands(program: Command, onCore: OnCore): void {
  program
    .command('reconcile')
    .description('compare appointments with the platform, and store what is missing, as a worker does daily')
    .argument('[days]', 'how many days back (default: as RECONCILE says)', parseDays)
    .option('--business <id>', 'the business of the credentials, where the platform does not tell it')
    .option('--dry-run', 'show what would be stored, and change nothing')
    .action(onCore(reconcile));
  const aliases = program
    .command('aliases')
    .description('names for the ids of businesses, clinics and doctors');
  aliases
    .command('import <csv>')
    .description('set names from a file with the columns kind, id, alias; an empty alias removes one')
    .action(onCore(importAliases));
  const exportAliases = async ({ db }: Core) =>
    pipeline(await listAliases(db), csvWriter(columns), process.stdout, { end: false });
  aliases.command('export').description('print them as such a file').action(onCore(exportAliases));
}

function parseDays(text: string): number {
  if (/^\d{1,3}d?$/.test(text)) return Number.parseInt(text, 10);
  throw new InvalidArgumentError('It must be a number of days such as 7.');
}

async function reconcile(
  core: Core,
  daysBack: number | undefined,
  { business, dryRun }: { business?: string; dryRun?: true },
): Promise<void> {
  const days = lastDays(core, daysBack ?? core.config.reconcile?.days ?? defaultDays);
  const client = openClient(core);
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'])
    process.once(name, () => stopping.abort(new Error('Interrupted: the same command begins again')));
  const { signal } = stopping;
  const actor = commandActor();
  if (!dryRun) await logAccess(core, { actor, action: 'reconcile', filter: { ...days }, ids: { business } });
  const options = { ...days, actor: actor.id, business, isDryRun: dryRun ?? false, signal };
  const pass = await withProgress('appointments compared', undefined, ({ advance: onProgress }) =>
    runPass(core, client, { ...options, onProgress }),
  );
  print(`Business ${pass.business}, ${days.from} to ${days.to}`);
  const { stored, ...found } = pass.counts;
  const counts = { ...found, [dryRun ? 'would be stored' : 'stored']: stored };
  printTable(['appointments', 'number'], Object.entries(counts));
}

const columns = ['kind', 'id', 'alias'] as const;

async function importAliases(core: Core, file: string): Promise<void> {
  const changes = parseAliases(await readFile(file));
  const actor = commandActor();
  await logAccess(core, { actor, action: 'aliases', rows: changes.length });
  const changed = await changeAliases(core.db, changes, actor.id);
  print(`${changed} changed, ${changes.length - changed} unchanged`);
}

function parseAliases(bytes: Buffer): Alias[] {
  if (!isUtf8(bytes)) throw new Error('The file is not UTF-8. Save it as “CSV UTF-8” in the spreadsheet.');
  const [head, ...rows] = parseCsv(bytes.toString());
  const names = head?.cells.map((name) => name.trim().toLowerCase()) ?? [];
  if (!columns.every((name) => names.includes(name)))
    throw new Error(`The first line must be ${columns.join(',')}`);
  const changes = new Map<string, Alias>();
  for (const { line, cells } of rows) {
    const [kind, id, alias] = columns.map((name) => cells[names.indexOf(name)]?.trim() ?? '');
    const change = { kind, id, alias } as Alias;
    const key = `${kind} ${id}`;
    const fault = changes.has(key) ? 'the id is there twice' : findFault(change);
    if (fault) throw new Error(`Nothing was imported. Line ${line}: ${fault}`);
    changes.set(key, change);
  }
  return [...changes.values()];
}

function findFault(change: Alias): string | undefined {
  if (!isAliasKind(change.kind)) return `the kind must be ${aliasKinds.join(', ')}`;
  if (/^\d(\.\d+)?E\+\d+$/i.test(change.id))
    return 'a spreadsheet has rounded the id: format the column as text';
  return findAliasFault(change);
}
