import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readTrusted } from '../../common/trusted-files.ts';
import { isLocal, type Lock } from './lock.ts';
import type { Place } from './place.ts';

/** Whether a process exists, of whatever program. */
export function isAlive(pid: number): boolean {
  if (!(pid > 0)) return false; // 0 is this process's group
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Whether a process is the server on a data directory, or a session of it: a program of PostgreSQL in that directory.
 *
 * @returns undefined where that cannot be known, as without /proc
 */
export function isServerOf(database: string, pid: number): boolean | undefined {
  const at = `/proc/${pid}`;
  try {
    const data = statSync(database);
    // PostgreSQL uses only a directory of its own user. The working directories of others' processes are unreadable.
    if (statSync(at).uid !== data.uid) return false;
    const { dev, ino } = statSync(`${at}/cwd`);
    return (
      dev === data.dev && ino === data.ino && /\/postgres( \(deleted\))?$/.test(readlinkSync(`${at}/exe`))
    );
  } catch (error) {
    const hasEnded = ['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '');
    return hasEnded && existsSync('/proc/self') ? false : undefined;
  }
}

/**
 * Kills every process of a server on a data directory, also those that a server has left behind; no other process.
 *
 * @returns the ids of those that were running; none where that cannot be known, as without /proc
 */
export function killServer(database: string): number[] {
  const pids = existsSync('/proc/self') ? readdirSync('/proc').map(Number) : [];
  const ofServer = pids.filter((pid) => pid > 0 && isServerOf(database, pid));
  for (const pid of ofServer) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // it has ended meanwhile
    }
  }
  return ofServer;
}

const endTimeoutMs = 10_000;

/**
 * Makes a data directory ready for another server: ends what the former one has left behind, then removes its `postmaster.pid`,
 * whose process id may be another program's now. A checkpointer without its server goes on writing, for minutes on a slow disk,
 * and PostgreSQL does not start beside it. Without /proc PostgreSQL judges by that file.
 *
 * @throws Error where a process does not end, as on a disk that hangs
 */
export async function endFormerServer(database: string): Promise<void> {
  if (!existsSync('/proc/self')) return;
  for (const deadline = performance.now() + endTimeoutMs; ; await sleep(25)) {
    const left = killServer(database);
    if (left.length === 0) return rmSync(join(database, 'postmaster.pid'), { force: true });
    if (performance.now() > deadline)
      throw new Error(`Processes of the former server on ${database} do not end: ${left.join(', ')}`);
  }
}

/**
 * The processes that a process has started and that have not ended.
 *
 * @returns each with its command line; none where that cannot be known, as without /proc
 */
export function childrenOf(pid: number | undefined): { pid: number; command: string }[] {
  const pids = readIfAny(`/proc/${pid}/task/${pid}/children`)?.split(' ').filter(Boolean).map(Number) ?? [];
  return pids.flatMap((child) => {
    const command = readIfAny(`/proc/${child}/cmdline`);
    return command === undefined ? [] : [{ pid: child, command }]; // it has just ended; the others have not
  });
}

function readIfAny(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined; // the process has ended, or the system has no such list
  }
}

/**
 * The server that uses a data directory, from its postmaster.pid; undefined where that is missing or incomplete. Its status is
 * `stopping` from the request of a shutdown on.
 */
export function readLockFile(database: string): { pid: number; port: number; status: string } | undefined {
  const lines = (readTrusted(join(database, 'postmaster.pid')) ?? '').split('\n');
  const lock = { pid: Number(lines[0]), port: Number(lines[3]), status: (lines[7] ?? '').trim() };
  return lock.pid > 0 && lock.port > 0 ? lock : undefined;
}

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
