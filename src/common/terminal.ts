import { readFileSync } from 'node:fs';
import cliProgress from 'cli-progress';
import Table from 'cli-table3';
import { InvalidArgumentError } from 'commander';
import { uuid } from './words.ts';

/** Control characters and bidirectional controls are escaped as in JSON (`\u001b`). New lines stay. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu, (character) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

type Cell = string | number | Date | null | undefined;

const textOf = (cell: Cell) => printable(cell instanceof Date ? cell.toISOString() : String(cell ?? ''));

/** The library fails on more, and is slow before. */
const maxRowsInTable = 5_000;

export function printTable(head: readonly string[], rows: readonly (readonly Cell[])[]): void {
  for (let at = 0; at === 0 || at < rows.length; at += maxRowsInTable) {
    const table = new Table({ head: head.map(textOf), style: { head: [], border: [], compact: true } });
    for (const row of rows.slice(at, at + maxRowsInTable)) table.push(row.map(textOf));
    print(table.toString());
  }
}

/** A table, or a JSON object per line, where a second column `a` is `a_2`. */
export function printRows(
  names: readonly string[],
  rows: readonly (readonly (string | null)[])[],
  asJson?: boolean,
): void {
  if (!asJson) {
    printTable(
      names,
      rows.map((row) => row.map((cell) => cell?.replaceAll('\n', '\\n'))),
    );
    print(`${rows.length} ${rows.length === 1 ? 'row' : 'rows'}`);
    return;
  }
  const keys = names.map((name, at) => {
    const before = names.slice(0, at).filter((other) => other === name).length;
    return before === 0 ? name : `${name}_${before + 1}`;
  });
  for (const row of rows) {
    const record = Object.fromEntries(keys.map((key, at) => [key, row[at]]));
    // JSON.stringify writes no white space: all control characters are within strings.
    print(printable(JSON.stringify(record)));
  }
}

export const printCounts = (counts: Record<string, number>) =>
  printTable(['table', 'rows'], Object.entries(counts));

const lineEveryMs = 2_000;

/** Shows the progress of a task, such as `replayed`: a bar on a terminal, otherwise a line every two seconds. */
export async function withProgress<T>(
  verb: string,
  total: number | undefined,
  task: (progress: { advance: (by?: number) => void }) => Promise<T>,
): Promise<T> {
  const of = total === undefined ? '' : `/${total}`;
  const format = `${total === undefined ? '' : '{bar} '}{value}${of} ${verb}`;
  const bar = process.stderr.isTTY
    ? new cliProgress.SingleBar({ format }, cliProgress.Presets.rect)
    : undefined;
  let value = 0;
  let last = performance.now();
  const advance = (by = 1) => {
    value += by;
    bar?.update(Math.round(value));
    if (bar || performance.now() - last < lineEveryMs) return;
    last = performance.now();
    process.stderr.write(`${Math.round(value)}${of} ${verb}\n`);
  };
  bar?.start(total ?? 0, 0);
  try {
    return await task({ advance });
  } finally {
    bar?.stop();
  }
}

/** Beside the output, on stderr. */
export const note = (text: string) => process.stderr.write(`${printable(text)}\n`);

export function parseUuid(text: string): string {
  if (uuid.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError('An id must be a UUID such as 018bcfe5-6800-8a3c-9f10-0123456789ab.');
}

export function parseCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('A number of rows must be a whole number of 1 or more.');
}

/** `-` is read from standard input: other users of the machine see the arguments of a process. */
export const orInput = (text: string): string => (text === '-' ? readFileSync(0, 'utf8').trim() : text);

/** The same for several, a line each. */
export const linesOrInput = (text: string, others: string[] = []) => [
  ...others,
  ...orInput(text).split(/\r?\n/),
];
