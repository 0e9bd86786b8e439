import type pg from 'pg';
import { maxCounted } from './definitions.ts';

// One message to PostgreSQL, so one transaction. The planner's statistics may be hours old and would make it read the
// whole table for the oldest, so only the index is left to it.
const statements = `
set local statement_timeout = 1000;
select reason, count(*)::int as rows from quarantine where replayed_at is null group by reason;
set local enable_seqscan = off;
set local enable_bitmapscan = off;
select
  (select count(*)::int from (select from pending_deliveries limit ${maxCounted}) pending) as received,
  (select count(*)::int from (select from failed_deliveries limit ${maxCounted}) failed) as failed,
  (select coalesce(extract(epoch from now() - min(received_at)), 0)::float8 from pending_deliveries) as oldest`;

/**
 * Reads the statistics of the tables, in a time that does not depend on their size.
 *
 * @throws the database's error
 */
export async function readTables(pool: pg.Pool) {
  const results = (await pool.query(statements)) as unknown as pg.QueryResult[];
  const [quarantine, deliveries] = results.filter(({ command }) => command === 'SELECT');
  const { received, failed, oldest } = deliveries!.rows[0] as {
    received: number;
    failed: number;
    oldest: number;
  };
  const byReason = quarantine!.rows.map(({ reason, rows }): [string, number] => [reason, rows]);
  return { received, failed, oldestPendingS: oldest, quarantine: new Map(byReason) };
}
