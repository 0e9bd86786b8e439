import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system in memory, which can be filled. */
export interface SmallDisk {
  folder: string;
  unmount: () => void;
}

/** @throws Error where this user may not mount */
export function mountSmallDisk(megabytes: number): SmallDisk {
  const mount = mkdtempSync(join(tmpdir(), 'receiver-disk-'));
  const run = (program: string, ...args: string[]) => execFileSync(program, args, { stdio: 'ignore' });
  try {
    run('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', mount);
  } catch (error) {
    rmSync(mount, { recursive: true });
    throw new Error('Mounting a disk needs root.', { cause: error });
  }
  return {
    folder: join(mount, 'data'),
    unmount: () => {
      run('umount', mount);
      rmSync(mount, { recursive: true });
    },
  };
}

/** Whether this user may mount a disk. */
export function mayMount(): boolean {
  try {
    mountSmallDisk(1).unmount();
    return true;
  } catch {
    return false; // an ordinary user, or a container
  }
}

/** Fills the disk of a folder; the returned function frees the space. */
export async function fillDisk(folder: string): Promise<() => Promise<void>> {
  const filler = join(folder, 'filler');
  const file = await open(filler, 'w');
  const block = Buffer.alloc(1024 ** 2);
  const { bavail, bsize } = statfsSync(folder);
  try {
    for (let left = bavail * bsize; left > 0; left -= block.length) await file.write(block);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    await file.close();
  }
  return () => rm(filler, { force: true });
}
