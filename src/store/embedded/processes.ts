import { existsSync, readFileSync, readlinkSync, statSync } from 'node:fs';

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

/** Kills a process of the server on a data directory, such as one that its server has left behind; no other process. */
export function killServerProcess(database: string, pid: number): void {
  try {
    if (isServerOf(database, pid)) process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // it has ended meanwhile
  }
}

/**
 * The processes that a process has started and that have not ended.
 *
 * @returns each with its command line; none where that cannot be known, as without /proc
 */
export function childrenOf(pid: number | undefined): { pid: number; command: string }[] {
  try {
    const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .split(' ')
      .filter(Boolean)
      .map(Number);
    return pids.map((child) => ({ pid: child, command: readFileSync(`/proc/${child}/cmdline`, 'utf8') }));
  } catch {
    return []; // one of them has just ended, or the system has no such list
  }
}
