import { sql } from 'kysely';
import type { Db } from '../../store/tables.ts';
import type { LogHead } from './verify-log.ts';

/**
 * Returns a function that tells whether the head of the access log has moved back, as by a backup that was restored, a standby that
 * was promoted, or somebody who removed entries. The process remembers what it has seen, so that whoever changes the database
 * cannot hide it.
 *
 * @returns the newest head that it has seen, where the log does not contain it any more
 */
export function watchLogHead(db: Db): () => Promise<LogHead | undefined> {
  let seen: LogHead | undefined;
  return async () => {
    // Retention deletes the first entries.
    const { rows } = await sql<{ entry: string; hash: string; contains: boolean }>`
      select h.entry, encode(h.hash, 'hex') as hash,
        coalesce((select min(a.entry) from access_log a), 0) > ${seen?.entry.toString() ?? 0}::bigint or exists (
          select from access_log a
          where a.entry = ${seen?.entry.toString() ?? 0}::bigint and a.hash = decode(${seen?.hash ?? ''}, 'hex')
        ) as contains
      from access_log_head h`.execute(db);
    const [head] = rows;
    const entry = BigInt(head?.entry ?? -1);
    if (seen && (entry < seen.entry || (seen.entry > 0n && !head!.contains))) return seen;
    if (head) seen = { entry, hash: head.hash };
    return undefined;
  };
}
