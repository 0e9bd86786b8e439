import { type Kysely, sql } from 'kysely';
import type { Tables } from './tables.ts';

/**
 * Runs something in one process at a time, of all that work on the database. It holds a short transaction open
 * meanwhile, so that the lock ends with the process or its connection, whatever becomes of them.
 *
 * @returns what it returned; undefined where another process is at it
 * @throws its error, or the database's
 */
export async function withAdvisoryLock<T>(
  db: Kysely<Tables>,
  name: string,
  run: () => Promise<T>,
): Promise<T | undefined> {
  return db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ locked: boolean }>`
      select pg_try_advisory_xact_lock(hashtext(${`receiver ${name}`})) as locked`.execute(tx);
    return rows[0]!.locked ? run() : undefined;
  });
}
