import cliProgress from 'cli-progress';
import Table from 'cli-table3';
import type { MessageGroup } from './message-groups.ts';
import { printable } from './printable.ts';

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** A time is printed as ISO 8601, and nothing for null. */
type Cell = string | number | Date | null | undefined;

const textOf = (cell: Cell) => printable(cell instanceof Date ? cell.toISOString() : String(cell ?? ''));

export function printTable(head: readonly string[], rows: readonly (readonly Cell[])[]): void {
  const table = new Table({ head: head.map(textOf), style: { head: [], border: [] } });
  table.push(...rows.map((row) => row.map(textOf)));
  print(table.toString());
}

export const printCounts = (counts: Record<string, number>) =>
  printTable(['table', 'rows'], Object.entries(counts));

export const describeGroup = ({ message, count, example }: MessageGroup) =>
  printable(`${message} (${count}, for example ${example})`);

interface Progress {
  setTotal: (total: number) => void;
  advance: (by?: number) => void;
}

const lineEveryMs = 2_000;

/**
 * Shows the progress of a task, such as `replayed`: a bar on a terminal, otherwise a line every two seconds.
 *
 * @param total undefined: not known, or not yet
 */
export async function withProgress<T>(
  verb: string,
  total: number | undefined,
  task: (progress: Progress) => Promise<T>,
): Promise<T> {
  let shown = total === undefined ? undefined : startProgress(verb, total);
  try {
    return await task({
      setTotal: (found) => {
        shown = startProgress(verb, found);
      },
      advance: (by = 1) => {
        shown ??= startProgress(verb);
        shown.advance(by);
      },
    });
  } finally {
    shown?.stop();
  }
}

function startProgress(verb: string, total?: number) {
  const of = total === undefined ? '' : `/${total}`;
  const format = `${total === undefined ? '' : '{bar} '}{value}${of} ${verb}`;
  const bar = process.stderr.isTTY
    ? new cliProgress.SingleBar({ format }, cliProgress.Presets.rect)
    : undefined;
  bar?.start(total ?? 0, 0);
  let value = 0;
  let last = performance.now();
  const advance = (by: number) => {
    value += by;
    bar?.update(Math.round(value));
    if (bar || performance.now() - last < lineEveryMs) return;
    last = performance.now();
    process.stderr.write(`${Math.round(value)}${of} ${verb}\n`);
  };
  return { advance, stop: () => bar?.stop() };
}
