import { type RawBuilder, sql } from 'kysely';
import { businessesOfInbox } from '../receiver/store/columns.ts';
import type { Db } from '../receiver/store/tables.ts';

/** Every business, as an array for a query: PostgreSQL pushes no sub-select down into a view of two parts. */
export async function readBusinesses(db: Db): Promise<RawBuilder<string[]>> {
  const { rows } = await sql.raw<{ business_id: string }>(businessesOfInbox).execute(db);
  return sql`${rows.map(({ business_id }) => business_id)}::text[]`;
}
