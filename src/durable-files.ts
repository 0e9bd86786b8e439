import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The content of a small text file, which is created unless it exists. One that a power cut has left empty gets a new content.
 *
 * @param create the content of a new file
 */
export function readOrCreate(file: string, create: () => string): { content: string; isNew: boolean } {
  const read = () => {
    const content = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
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

function writeDraft(file: string, content: string): string {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, content, { mode: 0o600, flush: true });
  return draft;
}

// What systems answer that have no such operation for folders.
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
