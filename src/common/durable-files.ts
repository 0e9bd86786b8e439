import {
  closeSync,
  existsSync,
  fchownSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isRoot, readTrusted } from './trusted-files.ts';

/**
 * The content of a small text file, which is created unless it exists. One that a power cut has left empty gets a new content.
 *
 * @param create the content of a new file
 */
export function readOrCreate(file: string, create: () => string): { content: string; isNew: boolean } {
  const read = () => {
    const content = readTrusted(file)?.trim() ?? '';
    // Where a size was on the disk before the data, a file consists of zeros.
    return content.includes('\0') ? '' : content;
  };
  const existing = read();
  if (existing) return { content: existing, isNew: false };
  const created = create();
  if (existsSync(file)) replaceFile(file, created);
  else writeOnce(file, created);
  const content = read();
  return { content, isNew: content === created.trim() };
}

/** Replaces a file, readable by its owner alone: after a power cut there is the former content or the new one. */
export function replaceFile(file: string, content: string): void {
  renameSync(writeDraft(file, content), file);
  syncFolder(dirname(file));
}

/**
 * Creates a file unless it exists, readable by its owner alone, with its whole content at once: another process finds all
 * of it or none.
 */
function writeOnce(file: string, content: string): void {
  const draft = writeDraft(file, content);
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
    syncFolder(dirname(file));
  }
}

/** A new file beside `file`. What root writes is of the user that the folder is of. */
function writeDraft(file: string, content: string): string {
  const draft = `${file}.${process.pid}`;
  rmSync(draft, { force: true });
  const fd = openSync(draft, 'wx', 0o600); // follows no link
  try {
    const { uid, gid } = statSync(dirname(file));
    if (isRoot() && uid !== 0) fchownSync(fd, uid, gid);
    writeFileSync(fd, content);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  return draft;
}

// The errors of systems that cannot sync a folder.
const unsupported = new Set(['EBADF', 'EINVAL', 'EISDIR', 'EPERM']);

/** Makes the names in a folder durable. */
export function syncFolder(folder: string): void {
  try {
    syncFile(folder);
  } catch (error) {
    if (!unsupported.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/** Makes a folder with everything in it durable. */
export function syncTree(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) syncTree(path);
    else if (entry.isFile()) syncFile(path);
  }
  syncFolder(folder);
}

function syncFile(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
