import { existsSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isLocal, type Lock } from './lock.ts';
import type { Place } from './place.ts';
import { isAlive, isServerOf } from './processes.ts';
import { readLockFile } from './server-process.ts';

/**
 * The process id of the server that provably runs on a folder. Its `postmaster.pid` is removed where the server has provably
 * ended: PostgreSQL would mistake the process that has this id now for the server.
 *
 * @param lock the folder's, if this process has it
 * @throws Error where it is unknown whether a server runs
 */
export function findServer(
  { home }: Pick<Place, 'home'>,
  lock: Pick<Lock, 'hasFormer' | 'forgetFormer'> | undefined,
): number | undefined {
  const database = join(home, 'database');
  const file = join(database, 'postmaster.pid');
  const pid = readLockFile(database)?.pid;
  if (pid && isServerOf(database, pid)) return pid;
  if (!lock) return undefined;
  if (existsSync(file) && !lock.hasFormer && !hasEnded(home, database, pid)) {
    throw new Error(
      `${file} names the process ${pid ?? 'of a server'}, and whether a server still uses this data cannot be known: it may run in ` +
        'another container, on another machine or as another user. Make sure that none does, delete that file, and start again',
    );
  }
  rmSync(file, { force: true });
  lock.forgetFormer();
  return undefined;
}

/** The first namespace of process ids, in which those of all containers are visible. */
const outermost = 'pid:[4026531836]';

/** Whether a server of a release without `lock` files has ended. */
function hasEnded(home: string, database: string, pid: number | undefined): boolean {
  if (!existsSync('/proc/self')) return pid !== undefined && !isAlive(pid);
  if (readlinkSync('/proc/self/ns/pid') !== outermost || !isLocal(home)) return false;
  const pids = readdirSync('/proc').map(Number).filter(isAlive);
  return pids.every((other) => isServerOf(database, other) === false);
}
