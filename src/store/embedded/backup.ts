import { randomUUID } from 'node:crypto';
import { type FileHandle, lstat, mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { syncFolder } from '../../common/durable-files.ts';
import { openTrusted } from '../../common/trusted-files.ts';
import { withClient } from '../pool.ts';
import { hasPages, isIntact, pageBytes, pagesPerFile } from './page-checksum.ts';

/** Folders whose content is of the running server; of pg_wal the backup gets what it needs. */
const emptied = /^pg_(wal|replslot|dynshmem|notify|serial|snapshots|stat_tmp|subtrans)$/;
const leftOut = /^(postmaster\.(pid|opts)|pg_internal\.init.*|pgsql_tmp.*)$/;

/** A copy has a name. The server is told of it: what it numbers belongs to another epoch than what the original does. */
export const copyNameFile = (home: string): string => join(home, 'copy');

/**
 * Copies the running embedded database, and the files beside it, to a new folder that a start accepts as DATA_DIR. The
 * folder has another name until it is complete and on the disk.
 *
 * @param url of its administrator
 * @param files to copy beside the database
 * @returns whether the pages have checksums, which were verified
 * @throws Error where the folder exists, another backup is running, or a page is damaged
 */
export async function backUp(
  url: string,
  database: string,
  files: readonly string[],
  to: string,
  { onTotal, onCopied }: Record<'onTotal' | 'onCopied', (bytes: number) => void>,
): Promise<boolean> {
  if (await stat(to).catch(unlessMissing)) throw new Error(`${to} exists. Name a new folder`);
  const draft = `${to}.partial`;
  return withClient(url, async (client) => {
    // Keeps the WAL until this session ends, and other backups out.
    await client
      .query(`select pg_create_physical_replication_slot('receiver_backup', true, true)`)
      .catch((error) => {
        throw error.code === '42710' ? new Error('Another backup is running') : error;
      });
    // The draft of a backup that was killed.
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft, { mode: 0o700 });
    const target = join(draft, 'database');
    const start = await client.query<{ first: string; checked: boolean }>(
      `select pg_walfile_name(pg_backup_start('receiver backup', true)) as first,
         current_setting('data_checksums')::bool as checked`,
    );
    const [{ first, checked }] = start.rows as [{ first: string; checked: boolean }];
    const { uid } = await stat(database);
    const found = await listFiles(database);
    onTotal(found.reduce((sum, { size }) => sum + size, 0));
    await mkdir(target, { mode: 0o700 });
    for (const { path, size, isFolder } of found) {
      if (isFolder) await mkdir(join(target, path), { mode: 0o700 });
      // A table that was dropped meanwhile: the WAL says so.
      else {
        const block = checked ? firstBlock(path) : undefined;
        await copy(join(database, path), join(target, path), uid, block).catch(unlessMissing);
      }
      onCopied(size);
    }
    const stop = await client.query<{ last: string; label: string }>(
      `select pg_walfile_name(lsn) as last, labelfile as label from pg_backup_stop(wait_for_archive => false)`,
    );
    const { last, label } = stop.rows[0]!;
    await writeFile(join(target, 'backup_label'), label, { mode: 0o600, flush: true });
    const wal = await readdir(join(database, 'pg_wal'));
    for (const name of wal.filter((file) => /^[0-9A-F]{24}$/.test(file) && file >= first && file <= last)) {
      await copy(join(database, 'pg_wal', name), join(target, 'pg_wal', name), uid);
    }
    for (const file of files) {
      await copy(file, join(draft, basename(file)), (await stat(dirname(file))).uid);
    }
    await writeFile(copyNameFile(draft), randomUUID(), { mode: 0o600, flush: true });
    const folders = found.filter(({ isFolder }) => isFolder).map(({ path }) => join(target, path));
    for (const folder of [...folders, target, draft]) syncFolder(folder);
    await rename(draft, to);
    syncFolder(dirname(to));
    return checked;
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
      const content = emptied.test(path) ? [] : await listFiles(database, path);
      found.push({ path, size: 0, isFolder: true }, ...content);
    } else if (entry.isFile()) {
      const size = await lstat(join(database, path)).then(({ size }) => size, unlessMissing);
      if (size !== undefined) found.push({ path, size, isFolder: false });
    }
  }
  return found;
}

const bytesAtOnce = 128 * pageBytes;
const readings = 5;

/** The first block of a file that consists of pages; undefined: of another one. */
function firstBlock(path: string): number | undefined {
  const pages = hasPages.exec(path);
  return pages ? Number(pages[1] ?? 0) * pagesPerFile : undefined;
}

/**
 * Copies a file durably; only the owner can read the copy.
 *
 * @param owner of the folder, whose files may be read
 * @param first its first block, where its pages are to be verified
 * @throws Error with the file and the block that is damaged
 */
async function copy(from: string, to: string, owner: number, first?: number): Promise<void> {
  const source = await openTrusted(from, owner);
  try {
    const target = await open(to, 'wx', 0o600);
    try {
      const buffer = Buffer.alloc(bytesAtOnce);
      for (let at = 0; ; ) {
        const { bytesRead } = await source.read(buffer, 0, buffer.length, at);
        if (first !== undefined) await verify(source, buffer.subarray(0, bytesRead), at, first, from);
        await target.write(buffer, 0, bytesRead);
        at += bytesRead;
        // Rows that are added meanwhile are in the WAL.
        if (bytesRead < buffer.length) break;
      }
      await target.sync();
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** Verifies the pages that were read from a file at an offset; what was being written is read again. */
async function verify(
  source: FileHandle,
  pages: Buffer,
  at: number,
  first: number,
  path: string,
): Promise<void> {
  for (let offset = 0; offset + pageBytes <= pages.length; offset += pageBytes) {
    const page = pages.subarray(offset, offset + pageBytes);
    const block = first + (at + offset) / pageBytes;
    if (await isReadable(source, page, at + offset, block)) continue;
    throw new Error(
      `${path}: block ${block} is damaged, its checksum is wrong. Keep former backups, and see docs/backup.md`,
    );
  }
}

/** Whether a page is intact, if need be after it was read again: the server may have been writing it. */
async function isReadable(source: FileHandle, page: Buffer, at: number, block: number): Promise<boolean> {
  for (let reading = 1; !isIntact(page, block); reading += 1) {
    if (reading === readings) return false;
    await sleep(20);
    await source.read(page, 0, pageBytes, at);
  }
  return true;
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
