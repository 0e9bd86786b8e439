import type { Log } from '../../log.ts';
import { withClient } from '../pool.ts';

const missing = `
select pg_size_bytes(current_setting('min_wal_size')) / pg_size_bytes(current_setting('wal_segment_size')) - count(*)
from pg_ls_waldir() where name ~ '^[0-9A-F]{24}$'`;

/**
 * Makes the files of the write-ahead log in advance, up to `min_wal_size`. PostgreSQL makes one when the last
 * is full, and every commit waits while its 16 MiB are written; those that it has it uses again and again.
 *
 * @returns a function that leaves it at those that are made by then
 */
export function layOutLog(url: string, log: Log): () => Promise<void> {
  const leaving = new AbortController();
  const done = makeFiles(url, leaving.signal).catch((error) =>
    log.warn({ err: error }, 'the files of the write-ahead log are made when they are needed'),
  );
  return () => {
    leaving.abort();
    return done;
  };
}

async function makeFiles(url: string, leaving: AbortSignal): Promise<void> {
  await withClient(url, async (client) => {
    const { rows } = await client.query<[string]>({ text: missing, rowMode: 'array' });
    const count = Number(rows[0]![0]);
    if (count <= 0) return;
    for (let made = 0; made < count && !leaving.aborted; made += 1) {
      await client.query(`select pg_logical_emit_message(false, 'receiver', 'next file'), pg_switch_wal()`);
    }
    // It puts the files that are done with behind those that are in use.
    await client.query('checkpoint');
  });
}
