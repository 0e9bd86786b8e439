import { type QueryExecutorProvider as Db, type RawBuilder, sql } from 'kysely';
import { businessesOfInbox } from '../../receiver/store/columns.ts';

export const read = async <Row>(db: Db, query: RawBuilder<Row>): Promise<Row[]> =>
  (await query.execute(db)).rows;

export async function readBusinesses(db: Db): Promise<string[]> {
  const { rows } = await sql.raw<{ business_id: string }>(businessesOfInbox).execute(db);
  return rows.map(({ business_id }) => business_id);
}

/** As one parameter: PostgreSQL pushes no sub-select down into a view of two parts. */
export const textArray = (texts: readonly string[]) => sql<string[]>`${texts}::text[]`;
