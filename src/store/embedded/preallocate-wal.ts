import { statfsSync } from 'node:fs';
import type { Log } from '../../common/log.ts';
import { withClient } from '../pool.ts';

const count = `
select count(*)::int as existing,
  (pg_size_bytes(current_setting('min_wal_size')) / pg_size_bytes(current_setting('wal_segment_size')))::int as wanted
from pg_ls_waldir() where name ~ '^[0-9A-F]{24}$'`;

// Space reserved for the data.
const leastFreeBytes = 2 ** 30;

/**
 * Creates the files of the write-ahead log in advance, up to `min_wal_size`. PostgreSQL creates one when the last is
 * full, and every commit waits while its 16 MiB are written; existing ones are recycled.
 *
 * @param folder the data directory
 * @returns a function that stops it
 */
export function preallocateWal(url: string, folder: string, log: Log): () => Promise<void> {
  let isStopping = false;
  const done = withClient(url, async (client) => {
    for (let used = 0; !isStopping && freeBytes(folder) > leastFreeBytes; used += 1) {
      const { rows } = await client.query<{ existing: number; wanted: number }>(count);
      const enough = rows[0]!.existing >= rows[0]!.wanted;
      // The checkpoint lets PostgreSQL recycle the used files.
      if (enough && used > 0) await client.query('checkpoint');
      if (enough) return;
      await client.query(`select pg_logical_emit_message(false, 'receiver', 'next file'), pg_switch_wal()`);
    }
  }).catch((error) =>
    log.warn({ err: error }, 'preallocation of the write-ahead log failed; its files are created on demand'),
  );
  return () => {
    isStopping = true;
    return done;
  };
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
