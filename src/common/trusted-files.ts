import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';

// In a folder of another user, a file that root reads may be a link of that user to a file that only root can read.

export const isRoot = (): boolean => process.geteuid?.() === 0;

/** Opens the file itself, and does not wait for a writer of a named pipe. */
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
const flags = () => (isRoot() ? O_RDONLY | O_NOFOLLOW | O_NONBLOCK : O_RDONLY);

/**
 * The content of a small text file; undefined where there is none. Root follows no link.
 *
 * @throws Error where it may be another user's link to a file of root
 */
export function readTrusted(file: string): string | undefined {
  let fd: number;
  try {
    fd = openSync(file, flags());
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw explain(error, file);
  }
  try {
    requireTrusted(file, fstatSync(fd), statSync(dirname(file)).uid);
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

/**
 * Opens a file below a folder of `owner` for reading.
 *
 * @throws Error where root would read another user's file; the system's error
 */
export async function openTrusted(file: string, owner: number): Promise<FileHandle> {
  const handle = await open(file, flags()).catch((error) => {
    throw explain(error, file);
  });
  try {
    requireTrusted(file, await handle.stat(), owner);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function requireTrusted(file: string, stats: Stats, owner: number): void {
  if (!isRoot()) return;
  // In a folder of another user, one of root with a second name may be that user's name of it.
  const isTrusted = owner === 0 || stats.uid === owner || (stats.uid === 0 && stats.nlink === 1);
  if (!stats.isFile() || !isTrusted) throw untrusted(file);
}

/**
 * A path without a link at its end. Of links, root follows only its own, in a folder of its own.
 *
 * @throws Error where it is a link that another user may have made
 */
export function ownPath(path: string): string {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats?.isSymbolicLink()) return path;
  if (isRoot() && (stats.uid !== 0 || statSync(dirname(path)).uid !== 0)) throw untrusted(path);
  return realpathSync(path);
}

const untrusted = (path: string) =>
  new Error(
    `${path} is a link, or not a file of the folder's user: as root, it is not followed. Delete it and start again`,
  );

const explain = (error: unknown, file: string) =>
  (error as NodeJS.ErrnoException).code === 'ELOOP' ? untrusted(file) : error;
