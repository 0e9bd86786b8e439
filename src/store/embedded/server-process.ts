import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import { withClient } from '../pool.ts';
import type { Place } from './place.ts';

// The server ends with this process, even after SIGKILL: a watcher beside the server reads from a pipe that closes with
// this process. It is a grandchild, so that the server does not mistake it for a child of its own.
const watched = 'exec 3<&0; ( (read -r _ <&3; kill -INT $$) & ) 2>/dev/null; exec "$@" 3<&- </dev/null';

const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // Messages of level ERROR quote rejected data.
  log_min_messages: 'fatal',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  // Space for a burst of about 70,000 callbacks.
  min_wal_size: '256MB',
};

export interface ServerProcess {
  exited: Promise<void>;
  /** Fast shutdown: ends every session, then the server. */
  stop: () => Promise<void>;
  /** The reason, where it could not start. */
  lastLogLines: () => string;
}

/**
 * Starts a server on a data directory and a port of 127.0.0.1. It gets a process group of its own, so that Ctrl-C in a
 * terminal reaches the service and not the database that it still needs.
 *
 * @param extra additional settings, `name=value`
 */
export function spawnServer(
  { home, user }: Place,
  bin: string,
  database: string,
  port: number,
  extra: readonly string[],
): ServerProcess {
  const own = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  const flags = [...own, ...extra].flatMap((setting) => ['-c', setting]);
  const server = [join(bin, 'postgres'), '-D', database, '-p', String(port), ...flags];
  const log = join(home, 'postgresql.log');
  const out = openSync(log, 'w', 0o600);
  const [program, ...args] = platform() === 'win32' ? server : ['/bin/sh', '-c', watched, 'sh', ...server];
  const child = spawn(program!, args, { ...user, cwd: home, detached: true, stdio: ['pipe', out, out] });
  closeSync(out);
  child.stdin?.on('error', () => {}); // it may have ended
  const exited = once(child, 'exit').then(() => {
    child.stdin?.end();
  });
  return {
    exited,
    stop: async () => {
      child.kill('SIGINT');
      await exited;
    },
    lastLogLines: () => readFileSync(log, 'utf8').trim().split('\n').slice(-5).join('\n'),
  };
}

/** The server that uses a data directory, from its postmaster.pid; undefined where that is missing or incomplete. */
export function readLockFile(database: string): { pid: number; port: number } | undefined {
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
  try {
    const commandLine = existsSync('/proc/self')
      ? readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      : execFileSync('ps', ['-p', String(pid), '-o', 'args='], { encoding: 'utf8' });
    return commandLine.includes('postgres');
  } catch {
    return false; // it has ended
  }
}

/** Whether a database accepts connections. */
export function acceptsConnections(url: string): Promise<boolean> {
  return withClient(url, async () => true).catch(() => false);
}
