import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import { withClient } from '../pool.ts';
import { explainLimit } from './limits.ts';
import type { Place } from './place.ts';

// The server ends with this process, even after SIGKILL: a watcher beside the server reads from a pipe that closes with
// this process. It is a grandchild, so that the server does not mistake it for a child of its own.
// Descriptor 3 is the lock.
const watched = 'exec 4<&0; ( (read -r _ <&4; kill -INT $$) & ) 2>/dev/null; exec "$@" 4<&- </dev/null';

const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // Messages of level ERROR quote rejected data. Those of LOG give reasons, such as of a failed fork.
  log_min_messages: 'log',
  log_checkpoints: 'off',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  // Space for a burst of about 70,000 callbacks.
  min_wal_size: '256MB',
};

export interface ServerProcess {
  exited: Promise<void>;
  /** Fast shutdown: ends every session, then the server. */
  stop: () => Promise<void>;
  /** Why it has ended: its exit code, and its last log lines. */
  reason: () => string;
}

/**
 * Starts a server on a data directory and a port of 127.0.0.1. It gets a process group of its own, so that Ctrl-C in a
 * terminal reaches the service and not the database that it still needs.
 *
 * @param extra additional settings, `name=value`
 * @param lock inherited by the server and its sessions
 * @throws the system's error, where there can be no process or log file
 */
export function spawnServer(
  { home, user }: Place,
  bin: string,
  database: string,
  port: number,
  extra: readonly string[],
  lock?: number,
): ServerProcess {
  const own = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  const flags = [...own, ...extra].flatMap((setting) => ['-c', setting]);
  const server = [join(bin, 'postgres'), '-D', database, '-p', String(port), ...flags];
  const log = join(home, 'postgresql.log');
  const out = openSync(log, 'w', 0o600);
  const [program, ...args] = platform() === 'win32' ? server : ['/bin/sh', '-c', watched, 'sh', ...server];
  let failure = '';
  const child = (() => {
    try {
      const stdio = ['pipe' as const, out, out, lock ?? ('ignore' as const)];
      return spawn(program!, args, { ...user, cwd: home, detached: true, stdio });
    } finally {
      closeSync(out);
    }
  })();
  child.stdin?.on('error', () => {}); // it may have ended
  const exited = once(child, 'exit').then(
    ([code, signal]) => {
      failure = `it ended with ${signal ?? `exit code ${code}`}`;
      child.stdin?.end();
    },
    (error) => {
      failure = error.message;
    },
  );
  return {
    exited,
    stop: async () => {
      child.kill('SIGINT');
      await exited;
    },
    reason: () => explainLimit([failure, lastLines(log)].filter(Boolean).join('\n')),
  };
}

function lastLines(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim().split('\n').slice(-5).join('\n');
  } catch {
    return ''; // gone with its file system
  }
}

/** The server that uses a data directory, from its postmaster.pid; undefined where that is missing or incomplete. */
export function readLockFile(database: string): { pid: number; port: number } | undefined {
  const file = join(database, 'postmaster.pid');
  if (!existsSync(file)) return undefined;
  const lines = readFileSync(file, 'utf8').split('\n');
  const lock = { pid: Number(lines[0]), port: Number(lines[3]) };
  return lock.pid > 0 && lock.port > 0 ? lock : undefined;
}

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

/** Whether a database accepts connections. */
export async function acceptsConnections(url: string): Promise<boolean> {
  return !(await tryConnection(url));
}

/** Why a database does not accept connections; undefined where it does. */
export function tryConnection(url: string): Promise<(Error & { code?: string }) | undefined> {
  return withClient(url, async () => undefined).catch((error) => error);
}
