import { sql } from 'kysely';
import type { Db } from '../store/tables.ts';

const statementMs = 5_000;

/** Reads in one snapshot: changes and the records that they name are of the same moment. Times are in UTC. */
export const inSnapshot = <T>(db: Db, read: (tx: Db) => Promise<T>): Promise<T> =>
  db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (tx) => {
      await sql`
        select set_config('statement_timeout', ${String(statementMs)}, true), set_config('TimeZone', 'UTC', true),
               -- Positions are read in their order up to the limit, also before PostgreSQL knows how many there are.
               set_config('enable_bitmapscan', 'off', true)`.execute(tx);
      return read(tx);
    });
