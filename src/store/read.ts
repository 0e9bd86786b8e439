import { type RawBuilder, sql } from 'kysely';
import type { Db } from './tables.ts';

export const read = async <Row>(db: Db, query: RawBuilder<Row>): Promise<Row[]> =>
  (await query.execute(db)).rows;

/** The conditions that are given, as one. */
export const allOf = (conditions: readonly (RawBuilder<unknown> | '' | false | undefined)[]) =>
  sql.join(
    conditions.filter((condition) => typeof condition === 'object'),
    sql` and `,
  );

/** Every business that has sent something. */
export const businesses = sql<string>`(select business_id from senders)`;

/** A page out of rows that were read with one more than its size. */
export const takePage = <Row>(rows: readonly Row[], size: number) => ({
  rows: rows.slice(0, size),
  more: rows.length > size,
});
