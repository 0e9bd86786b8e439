import { readFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { csvWriter, parseCsv } from '../common/csv.ts';
import { print } from '../common/output.ts';
import type { Environment } from '../config/config.ts';
import {
  type AliasChange,
  aliasKinds,
  changeAliases,
  findAliasFault,
  readAliases,
} from '../store/aliases.ts';
import { commandActor, logCommand, type Opened, onDatabase } from './with-database.ts';

const columns = ['kind', 'id', 'alias'] as const;
const maxFaults = 20;

export function addAliasesCommand(program: Command, env: Environment): void {
  const aliases = program
    .command('aliases')
    .description('names for the ids of businesses, clinics and doctors');
  aliases
    .command('import')
    .description('set names from a CSV file with the columns kind, id, alias; an empty alias deletes one')
    .argument('<csv>', 'the file')
    .action(async (file: string) => onDatabase(env, setAliases)(await readChanges(file)));
  aliases.command('export').description('print them as such a file').action(onDatabase(env, exportAliases));
}

/** @throws Error with what is wrong with the file: nothing is imported then */
async function readChanges(file: string): Promise<AliasChange[]> {
  const { changes, faults } = parse(await readText(file));
  if (faults.length === 0) return changes;
  const more = faults.length > maxFaults ? [`and ${faults.length - maxFaults} more`] : [];
  const list = [...faults.slice(0, maxFaults), ...more];
  throw new Error(`Nothing was imported:\n${list.join('\n')}`);
}

async function setAliases({ db }: Opened, changes: AliasChange[]): Promise<void> {
  const { set, deleted } = await db.transaction().execute(async (tx) => {
    // First the names, as the console does: two that lock in another order than each other would wait for ever.
    const changed = await changeAliases(tx, changes, commandActor().id);
    await logCommand(tx, { action: 'aliases', rows: changes.length });
    return changed;
  });
  print(`${set} set, ${deleted} deleted, ${changes.length - set - deleted} unchanged`);
}

async function readText(file: string): Promise<string> {
  const bytes = await readFile(file);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${file} is not UTF-8. Save it as “CSV UTF-8” in the spreadsheet.`);
  }
}

/** The rows, or what is wrong with them, by line. */
function parse(text: string): { changes: AliasChange[]; faults: string[] } {
  const [head, ...rows] = parseCsv(text);
  const names = head?.cells.map((name) => name.trim().toLowerCase());
  if (!names || columns.some((name) => names.filter((one) => one === name).length !== 1)) {
    return { changes: [], faults: [`line ${head?.line ?? 1}: the header must be ${columns.join(',')}`] };
  }
  const lines = new Map<string, number>();
  const faults: string[] = [];
  const changes = rows.map(({ line, cells }) => {
    const [kind = '', id = '', alias = ''] = columns.map((name) => cells[names.indexOf(name)]?.trim());
    const key = JSON.stringify([kind, id]);
    const problem =
      findProblem(kind, id, alias) ?? (lines.has(key) && `the id is also on line ${lines.get(key)}`);
    if (problem) faults.push(`line ${line}: ${problem}`);
    lines.set(key, line);
    return { kind, id, alias } as AliasChange;
  });
  return { changes, faults };
}

function findProblem(kind: string, id: string, alias: string): string | undefined {
  if (!(aliasKinds as readonly string[]).includes(kind)) return `the kind must be ${aliasKinds.join(', ')}`;
  if (/^\d(\.\d+)?E\+\d+$/i.test(id)) return 'a spreadsheet has rounded the id: format the column as text';
  return findAliasFault(id, alias);
}

async function exportAliases({ db }: Opened): Promise<void> {
  const aliases = await readAliases(db);
  const rows = aliasKinds.flatMap((kind) =>
    Array.from(aliases[kind], ([id, alias]) => ({ kind, id, alias })),
  );
  await pipeline(rows, csvWriter(columns), process.stdout, { end: false });
}
