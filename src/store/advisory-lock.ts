import { sql } from 'kysely';
import type { Db } from './tables.ts';

/** The number of a lock. */
export const lockKey = (name: string) => sql`hashtext(${sql.lit(`receiver ${name}`)})`;

/** Whether a process of this database holds a lock. */
export const isLocked = (name: string) => sql<boolean>`exists (
  select from pg_locks
  where locktype = 'advisory' and objsubid = 1 and (classid::bigint << 32 | objid::bigint) = ${lockKey(name)}
    and database = (select oid from pg_database where datname = current_database()))`;

/**
 * Runs a function under a lock that one process of a database can hold at a time. The lock belongs to an open
 * transaction, so it is released when the process or its connection ends.
 *
 * @returns the function's result; undefined where another process holds the lock
 * @throws the function's error, or the database's
 */
export async function withAdvisoryLock<T>(db: Db, name: string, run: () => Promise<T>) {
  return db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ locked: boolean }>`
      select pg_try_advisory_xact_lock(${lockKey(name)}) as locked`.execute(tx);
    return rows[0]!.locked ? run() : undefined;
  });
}
