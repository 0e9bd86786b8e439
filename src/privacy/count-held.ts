import { sql } from 'kysely';
import type { Family } from '../families/index.ts';
import type { Db } from '../store/tables.ts';
import type { Counts } from './counts.ts';
import { madeOf } from './erasure/withhold.ts';

/** The tables of a family's rows. */
export const tablesOf = ({ table, versions }: Family) => [table, ...(versions ? [versions] : [])];

/**
 * Counts the deliveries that are listed in the table `erasing`, and the rows made of them, by table.
 *
 * @param listId see `findDeliveries`
 */
export async function countHeld(tx: Db, families: readonly Family[], listId: string): Promise<Counts> {
  const { rows } = await sql<{ family: string; rows: number }>`
    select family, count(*)::int as rows from erasing where erasure_id = ${listId}::uuid group by family`.execute(
    tx,
  );
  const counts: Counts = { deliveries: rows.reduce((total, one) => total + one.rows, 0) };
  const present = new Set(rows.map(({ family }) => family));
  for (const family of families) {
    for (const table of tablesOf(family)) {
      counts[table] = present.has(family.name) ? await countMade(tx, family, table, listId) : 0;
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
