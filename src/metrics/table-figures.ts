import type pg from 'pg';
import { countedAtMost } from './definitions.ts';

export interface TableFigures {
  received: number;
  failed: number;
  oldestWaitingS: number;
  /** By reason. */
  quarantine: Map<string, number>;
}

// One message to PostgreSQL, so one transaction. The planner's guess at how many deliveries wait may be
// hours old, and would then have it read the whole table: it is left nothing but the index of those to do.
const statements = `
set local statement_timeout = 1000;
select reason, count(*)::int as rows from quarantine where replayed_at is null group by reason;
set local enable_seqscan = off;
set local enable_bitmapscan = off;
select
  (select count(*)::int from (select from deliveries where status = 'received' limit ${countedAtMost}) to_do) as received,
  (select count(*)::int from (select from deliveries where status = 'failed' limit ${countedAtMost}) to_do) as failed,
  (select coalesce(extract(epoch from now() - min(received_at)), 0)::float8 from deliveries where status = 'received') as oldest`;

/**
 * Reads what the tables say, in a time that does not depend on how much is in them.
 *
 * @throws the database's error
 */
export async function readTables(pool: pg.Pool): Promise<TableFigures> {
  const results = (await pool.query(statements)) as unknown as pg.QueryResult[];
  const [quarantine, deliveries] = results.filter(({ command }) => command === 'SELECT');
  const { received, failed, oldest } = deliveries!.rows[0];
  return {
    received,
    failed,
    oldestWaitingS: oldest,
    quarantine: new Map(quarantine!.rows.map(({ reason, rows }) => [reason, rows])),
  };
}
