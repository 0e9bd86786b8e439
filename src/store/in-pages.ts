import type { RawBuilder } from 'kysely';
import type { Db } from './tables.ts';

/**
 * Reads rows in the order of their ids, in pages that are not empty.
 *
 * @param query the rows of the page after an id
 */
export async function* inPages<Row extends { id: string }>(
  db: Db,
  query: (after: string) => RawBuilder<Row>,
): AsyncGenerator<Row[]> {
  for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
    const { rows } = await query(after).execute(db);
    if (rows.length === 0) return;
    yield rows;
    after = rows.at(-1)!.id;
  }
}
