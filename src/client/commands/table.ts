import Table from 'cli-table3';

type Cell = string | readonly string[] | null | undefined;

/** A table for a terminal, with the lines of a cell as a list; empty if there are no items. */
export function table<T>(head: string[], items: readonly T[], row: (item: T) => Cell[]): string {
  if (items.length === 0) return '';
  const grid = new Table({ head, style: { head: [], border: [] } });
  grid.push(...items.map((item) => row(item).map((cell) => [cell ?? ''].flat().map(printable).join('\n'))));
  return grid.toString();
}

// Names from the platform must not control the terminal.
const printable = (text: string) => text.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, ' ');
