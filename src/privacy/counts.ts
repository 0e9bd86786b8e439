/** The number of rows by table. */
export type Counts = Record<string, number>;

/** @returns the number of rows added */
export function add(total: Counts, counts: Counts): number {
  for (const [table, rows] of Object.entries(counts)) total[table] = (total[table] ?? 0) + rows;
  return sum(counts);
}

export const sum = (counts: Counts) => Object.values(counts).reduce((total, rows) => total + rows, 0);
