import { sql } from 'kysely';
import pg from 'pg';
import type { Db } from '../store/tables.ts';

/**
 * Replaces the planner's samples of tables, which contain values of their rows: of what was erased, too. PostgreSQL keeps
 * those of a table that has become empty.
 *
 * @returns the tables that were not analyzed, because this role may not, or because of a lock: autovacuum does so later
 */
export async function analyze(db: Db, tables: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ name: string; allowed: boolean }>`
    select c.oid::regclass::text as name,
           pg_has_role(c.relowner, 'USAGE') or current_setting('is_superuser')::bool
             or (current_setting('server_version_num')::int >= 170000
                 and exists (select from aclexplode(c.relacl) a
                             where a.privilege_type = 'MAINTAIN' and (a.grantee = 0 or pg_has_role(a.grantee, 'USAGE')))) as allowed
    from unnest(${tables}::text[]) as wanted join pg_class c on c.oid = to_regclass(wanted)`.execute(db);
  const left: string[] = [];
  for (const { name, allowed } of rows) {
    const isDone = allowed && (await analyzeOne(db, name));
    if (!isDone) left.push(name);
  }
  return left;
}

/** @returns false where somebody else holds a lock; the erasure itself is complete */
async function analyzeOne(db: Db, name: string): Promise<boolean> {
  try {
    await db.transaction().execute(async (tx) => {
      await sql`set local statement_timeout = 0`.execute(tx);
      await sql`set local lock_timeout = '5s'`.execute(tx);
      await sql`analyze ${sql.raw(name)}`.execute(tx);
    });
    return true;
  } catch (error) {
    if (error instanceof pg.DatabaseError) return false;
    throw error;
  }
}

export const notAnalyzed =
  'these tables could not be analyzed (only their owner may): pg_stats may contain erased values until autovacuum does so';
