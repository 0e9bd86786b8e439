import type pg from 'pg';

/** Deliveries are counted up to this number, so that the cost of a scrape does not grow with the tables. */
export const maxCounted = 100_000;

// One message to PostgreSQL, so one transaction. The planner's statistics may be hours old and would make it read the
// whole table for the oldest, so only the index is left to it.
const statements = `
set local statement_timeout = 1000;
select reason, count(*)::int as rows from (
  select reason from quarantine where replayed_at is null order by last_received_at desc limit ${maxCounted}
) newest group by reason;
set local enable_seqscan = off;
set local enable_bitmapscan = off;
select
  (select count(*)::int from (
    select from pending_deliveries limit ${maxCounted}) pending) as received,
  (select count(*)::int from (select from failed_deliveries limit ${maxCounted}) failed) as failed,
  (select coalesce(extract(epoch from now() - min(received_at)), 0)::float8
    from pending_deliveries) as "oldestPendingS"`;

/**
 * Reads the statistics of the tables, in a time that does not depend on their size.
 *
 * @throws the database's error
 */
export async function readTables(pool: pg.Pool) {
  const results = (await pool.query(statements)) as unknown as pg.QueryResult[];
  const [quarantine, counts] = results.filter(({ command }) => command === 'SELECT');
  const counted = counts!.rows[0] as Record<'received' | 'failed' | 'oldestPendingS', number>;
  const byReason = quarantine!.rows.map(({ reason, rows }): [string, number] => [reason, rows]);
  return { ...counted, quarantine: new Map(byReason) };
}
