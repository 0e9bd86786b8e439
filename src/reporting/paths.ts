import { type Kysely, sql } from 'kysely';
import type { Tables } from '../store/tables.ts';

/**
 * Tells the reports which family each registered path belongs to, so that what lies in quarantine counts
 * for its family. Former paths are kept: callbacks that came by them may still lie there.
 *
 * @param paths the registered path of each family, by the family's name
 */
export async function applyReportPaths(db: Kysely<Tables>, paths: Record<string, string>): Promise<void> {
  await sql`
    insert into callback_paths (path, family)
    select path, family
    from unnest(${Object.values(paths)}::text[], ${Object.keys(paths)}::text[]) as given (path, family)
    order by path
    on conflict (path) do update set family = excluded.family
      where callback_paths.family <> excluded.family`.execute(db);
}
