import { sql } from 'kysely';
import type { Db } from '../tables.ts';

/**
 * Stores the family of each registered path, so that reports count quarantined bodies by family. Former paths are kept
 * for bodies that were sent to them.
 *
 * @param paths the registered paths by family name
 */
export async function applyReportPaths(db: Db, paths: Record<string, readonly string[]>): Promise<void> {
  const given = Object.entries(paths).flatMap(([family, list]) => list.map((path) => ({ family, path })));
  await sql`
    insert into callback_paths (path, family)
    select path, family
    from unnest(${given.map(({ path }) => path)}::text[], ${given.map(({ family }) => family)}::text[]) as given (path, family)
    order by path
    on conflict (path) do update set family = excluded.family
      where callback_paths.family <> excluded.family`.execute(db);
}
