import { copyFile, mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { withClient } from '../pool.ts';

/** Folders whose content is of the running server; of pg_wal the backup gets what it needs. */
const emptied = new Set([
  ...[
    'pg_wal',
    'pg_replslot',
    'pg_dynshmem',
    'pg_notify',
    'pg_serial',
    'pg_snapshots',
    'pg_stat_tmp',
    'pg_subtrans',
  ],
]);
const leftOut = /^(postmaster\.(pid|opts)|pg_internal\.init.*|pgsql_tmp.*)$/;

export interface BackupProgress {
  onTotal: (bytes: number) => void;
  onCopied: (bytes: number) => void;
}

/**
 * Copies the running embedded database, and the files beside it, to a new folder that a start accepts as DATA_DIR. The
 * folder has another name until it is complete and on the disk.
 *
 * @param files to copy beside the database
 * @throws Error where the folder exists, or another backup is running
 */
export async function backUp(
  url: string,
  database: string,
  files: readonly string[],
  to: string,
  { onTotal, onCopied }: BackupProgress,
): Promise<void> {
  if (await exists(to)) throw new Error(`${to} exists. Name a new folder`);
  const draft = `${to}.partial`;
  await withClient(url, async (client) => {
    // Keeps the WAL until this session ends, and other backups out.
    await client
      .query(`select pg_create_physical_replication_slot('receiver_backup', true, true)`)
      .catch((error) => {
        throw error.code === '42710' ? new Error('Another backup is running') : error;
      });
    // Of a backup that was killed.
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft, { mode: 0o700 });
    const target = join(draft, 'database');
    const start = await client.query<{ first: string }>(
      `select pg_walfile_name(pg_backup_start('receiver backup', true)) as first`,
    );
    const found = await listFiles(database);
    onTotal(found.reduce((sum, { size }) => sum + size, 0));
    await mkdir(target, { mode: 0o700 });
    for (const { path, size, isFolder } of found) {
      if (isFolder) await mkdir(join(target, path), { mode: 0o700 });
      // A table that was dropped meanwhile: the WAL says so.
      else await copyDurably(join(database, path), join(target, path)).catch(unlessMissing);
      onCopied(size);
    }
    const stop = await client.query<{ last: string; label: string }>(
      `select pg_walfile_name(lsn) as last, labelfile as label from pg_backup_stop(wait_for_archive => false)`,
    );
    const [{ first }, { last, label }] = [start.rows[0]!, stop.rows[0]!];
    await writeFile(join(target, 'backup_label'), label, { mode: 0o600, flush: true });
    const wal = await readdir(join(database, 'pg_wal'));
    for (const name of wal.filter((file) => /^[0-9A-F]{24}$/.test(file) && file >= first && file <= last)) {
      await copyDurably(join(database, 'pg_wal', name), join(target, 'pg_wal', name));
    }
    for (const file of files) await copyDurably(file, join(draft, basename(file)));
    const folders = found.filter(({ isFolder }) => isFolder).map(({ path }) => join(target, path));
    for (const folder of [...folders, target, draft]) await flush(folder);
    await rename(draft, to);
    await flush(dirname(to));
  });
}

interface Found {
  path: string;
  size: number;
  isFolder: boolean;
}

/** The files and folders of a data directory, each folder before its content. */
async function listFiles(database: string, folder = ''): Promise<Found[]> {
  const found: Found[] = [];
  for (const entry of await readdir(join(database, folder), { withFileTypes: true })) {
    if (leftOut.test(entry.name)) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      const content = emptied.has(path) ? [] : await listFiles(database, path);
      found.push({ path, size: 0, isFolder: true }, ...content);
    } else if (entry.isFile()) {
      const size = await stat(join(database, path)).then(({ size }) => size, unlessMissing);
      if (size !== undefined) found.push({ path, size, isFolder: false });
    }
  }
  return found;
}

/** The copy has the original's mode: only its owner can read it. */
async function copyDurably(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  const file = await open(to, 'r+');
  await file.sync().finally(() => file.close());
}

// What systems answer that have no such operation for folders.
const unsupported = new Set(['EBADF', 'EINVAL', 'EISDIR', 'EPERM']);

/** Makes the names in a folder durable. */
async function flush(folder: string): Promise<void> {
  try {
    const handle = await open(folder);
    await handle.sync().finally(() => handle.close());
  } catch (error) {
    if (!unsupported.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

const exists = (path: string) =>
  stat(path).then(
    () => true,
    (error) => unlessMissing(error) ?? false,
  );
