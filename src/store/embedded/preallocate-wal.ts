import { statfsSync } from 'node:fs';
import type { Log } from '../../log.ts';
import { withClient } from '../pool.ts';

const count = `
select count(*)::int as made,
  (pg_size_bytes(current_setting('min_wal_size')) / pg_size_bytes(current_setting('wal_segment_size')))::int as wanted
from pg_ls_waldir() where name ~ '^[0-9A-F]{24}$'`;

// With less than that left on the disk, the data needs it more.
const leastFree = 2 ** 30;

/**
 * Makes the files of the write-ahead log in advance, up to `min_wal_size`. PostgreSQL makes one when the last
 * is full, and every commit waits while its 16 MiB are written; those that it has it uses again and again.
 *
 * @param folder where they lie
 * @returns a function that leaves it at those that are made by then
 */
export function preallocateWal(url: string, folder: string, log: Log): () => Promise<void> {
  const leaving = new AbortController();
  const done = makeFiles(url, folder, leaving.signal).catch((error) =>
    log.warn({ err: error }, 'the files of the write-ahead log are made when they are needed'),
  );
  return () => {
    leaving.abort();
    return done;
  };
}

async function makeFiles(url: string, folder: string, leaving: AbortSignal): Promise<void> {
  await withClient(url, async (client) => {
    for (let used = 0; !leaving.aborted && freeBytes(folder) > leastFree; used += 1) {
      const { rows } = await client.query<{ made: number; wanted: number }>(count);
      const enough = rows[0]!.made >= rows[0]!.wanted;
      // The checkpoint lets those that were used be used again.
      if (enough && used > 0) await client.query('checkpoint');
      if (enough) return;
      await client.query(`select pg_logical_emit_message(false, 'receiver', 'next file'), pg_switch_wal()`);
    }
  });
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
