import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { findHome } from './place.ts';

/** The folder of the embedded database, or the nearest one above that exists, and the free bytes of its disk. */
export async function freeDisk(dataDir: string): Promise<{ folder: string; bytes: number }> {
  let folder = resolve(findHome(dataDir) ?? dataDir);
  while (!existsSync(folder)) folder = dirname(folder);
  const { bavail, bsize } = await statfs(folder);
  return { folder, bytes: bavail * bsize };
}
