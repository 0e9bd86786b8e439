import { spawnSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  rmdirSync,
  rmSync,
} from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';

const { O_RDONLY, O_DIRECTORY = 0, O_NOFOLLOW = 0 } = constants;

/** Opens a folder itself, no link to one. */
export const openFolder = (path: string): number => openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

/** A path of an open folder that stays right when another user renames it; where the system has none, its path. */
export const pathOf = (fd: number, path: string): string =>
  platform() === 'linux' ? `/proc/self/fd/${fd}` : path;

/** Gives the descriptor of a folder itself, no link to one, to a function. */
export function withFolder(path: string, use: (fd: number) => void): void {
  const fd = openFolder(path);
  try {
    use(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Removes a file, or a folder with everything in it. Root follows no link, and removes what is in a folder of the server's user
 * with that user's rights.
 */
export function removeTree(path: string, { user }: { user: { uid: number; gid: number } | undefined }): void {
  if (!user) {
    rmSync(path, { recursive: true, force: true });
    return;
  }
  try {
    withFolder(path, (fd) => {
      const at = pathOf(fd, path);
      if (fstatSync(fd).uid !== 0) spawnSync('rm', ['-rf', '--', path], { ...user, cwd: '/' });
      else for (const name of readdirSync(at)) rmSync(join(at, name), { recursive: true, force: true });
    });
    if (existsSync(path)) rmdirSync(path);
  } catch (error) {
    // No folder, or a link.
    if (!['ENOENT', 'ENOTDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    rmSync(path, { force: true });
  }
}
