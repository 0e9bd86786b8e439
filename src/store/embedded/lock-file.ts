import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The server that uses a data directory, from its postmaster.pid. */
export interface LockFile {
  pid: number;
  port: number;
}

/** Reads postmaster.pid; undefined where it is missing or incomplete. */
export function readLockFile(database: string): LockFile | undefined {
  const file = join(database, 'postmaster.pid');
  if (!existsSync(file)) return undefined;
  const lines = readFileSync(file, 'utf8').split('\n');
  const lock = { pid: Number(lines[0]), port: Number(lines[3]) };
  return lock.pid > 0 && lock.port > 0 ? lock : undefined;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether a process is a PostgreSQL server: after a reboot its pid may belong to another program. */
export function isPostgres(pid: number): boolean {
  return isAlive(pid) && commandLine(pid).includes('postgres');
}

function commandLine(pid: number): string {
  try {
    if (existsSync('/proc/self')) return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return execFileSync('ps', ['-p', String(pid), '-o', 'args='], { encoding: 'utf8' });
  } catch {
    return ''; // it has ended
  }
}
