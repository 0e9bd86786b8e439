import { type RawBuilder, sql } from 'kysely';
import { isDamaged } from './faults.ts';
import type { Db } from './tables.ts';

/**
 * Reads a table of which a page is damaged, without its indexes: a part that cannot be read is halved until it is one page,
 * which is skipped.
 *
 * @param maxRows after which it stops
 * @param query reads a range of pages, given as a condition on `ctid`
 * @throws the database's error, if it is another one
 */
export async function readSoundPages<Row>(
  db: Db,
  table: string,
  maxRows: number,
  query: (isInRange: RawBuilder<boolean>) => RawBuilder<Row>,
): Promise<Row[]> {
  const { rows: sizes } = await sql<{ pages: number }>`
    select (pg_relation_size(${table}::regclass) / current_setting('block_size')::int)::int as pages`.execute(
    db,
  );
  const found: Row[] = [];
  const read = async (from: number, to: number): Promise<void> => {
    if (found.length >= maxRows || from >= to) return;
    try {
      const { rows } = await query(sql`ctid >= ${`(${from},0)`}::tid and ctid < ${`(${to},0)`}::tid`).execute(
        db,
      );
      found.push(...rows);
    } catch (error) {
      if (!isDamaged(error)) throw error;
      if (to - from === 1) return;
      const middle = (from + to) >> 1;
      await read(from, middle);
      await read(middle, to);
    }
  };
  await read(0, sizes[0]!.pages);
  return found;
}
