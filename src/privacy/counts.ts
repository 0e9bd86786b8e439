import { type RawBuilder, sql } from 'kysely';
import { type Family, readKey } from '../families/index.ts';
import type { Db } from '../store/tables.ts';

export type Counts = Record<string, number>;

export function add(total: Counts, counts: Counts): number {
  for (const [table, rows] of Object.entries(counts)) total[table] = (total[table] ?? 0) + rows;
  return sum(counts);
}

export const sum = (counts: Counts) => Object.values(counts).reduce((total, rows) => total + rows, 0);

/** The tables of a family's rows, and of what belongs to them. */
export const tablesOf = ({ table, versions }: Family) =>
  [table, versions].filter((name) => name !== undefined);

/** Whether a row, `made`, was made of a delivery, `i`; found by the row's key. */
export function madeOf(family: Family): RawBuilder<unknown> {
  const { identifiedBy } = family;
  const key = identifiedBy
    ? sql`made.business_id = i.business_id and made.${sql.ref(identifiedBy)} = ${sql.raw(readKey(family, 'i')!)} and`
    : sql``;
  return sql`${key} made.delivery_id = i.id`;
}

/** Counts the deliveries that are listed in the table `erasing`, and the rows made of them, by table. */
export async function countHeld(tx: Db, families: readonly Family[], listId: string): Promise<Counts> {
  const { rows } = await sql<{ family: string; rows: number }>`
    select family, count(*)::int as rows from erasing
    where erasure_id = ${listId}::uuid group by family`.execute(tx);
  const counts: Counts = { deliveries: rows.reduce((total, one) => total + one.rows, 0) };
  for (const family of families) {
    const isPresent = rows.some((one) => one.family === family.name);
    for (const table of tablesOf(family)) {
      counts[table] = isPresent ? await countMade(tx, family, table, listId) : 0;
    }
  }
  return counts;
}

async function countMade(tx: Db, family: Family, table: string, listId: string): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    select count(*)::int as rows
    from erasing e join inbox i using (id) join ${sql.table(table)} made on ${madeOf(family)}
    where e.erasure_id = ${listId}::uuid and e.family = ${family.name}`.execute(tx);
  return rows[0]!.rows;
}
