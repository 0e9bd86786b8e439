import { type QueryExecutorProvider as Db, type RawBuilder, sql } from 'kysely';
import { businessesOfInbox } from '../../receiver/store/columns.ts';
import { isTimeout } from '../../receiver/store/errors.ts';

export const read = async <Row>(db: Db, query: RawBuilder<Row>): Promise<Row[]> =>
  (await query.execute(db)).rows;

export const allOf = (conditions: readonly (RawBuilder<unknown> | '' | false | undefined)[]) =>
  sql.join(
    conditions.filter((condition) => typeof condition === 'object'),
    sql` and `,
  );

/** Every business, as an array for a query: PostgreSQL pushes no sub-select down into a view of two parts. */
export async function readBusinesses(db: Db): Promise<RawBuilder<string[]>> {
  const { rows } = await sql.raw<{ business_id: string }>(businessesOfInbox).execute(db);
  return sql`${rows.map(({ business_id }) => business_id)}::text[]`;
}

export const unlessTimeout = <T>(query: Promise<T>): Promise<T | undefined> =>
  query.catch((error) => {
    if (!isTimeout(error)) throw error;
    return undefined;
  });

/** Rows are counted up to here: a number above means that there are more. */
export const countLimit = 10_000;

export const countUpTo = (rows: RawBuilder<unknown>) =>
  sql<number>`(select count(*)::int from (${rows} limit ${countLimit + 1}) as counted)`;
