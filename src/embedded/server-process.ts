import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { withTimeout } from '../common/timeouts.ts';
import type { Cluster } from './cluster.ts';

// The server ends with this process, even after SIGKILL: a watcher beside the server reads from a pipe that closes with
// this process. It is a grandchild, so that the server does not mistake it for a child of its own. A line ends it without a
// signal: once the server has ended, its process id may be another program's.
const watched = 'exec 4<&0; ( (read -r _ <&4 || kill -INT $$) & ) 2>/dev/null; exec "$@" 4<&- </dev/null';

const settings = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  // Messages of level ERROR quote rejected data. Those of LOG give reasons, such as of a failed fork.
  'log_min_messages=log',
  'log_checkpoints=off',
  'log_min_error_statement=panic',
  'log_error_verbosity=terse',
];

const stopTimeoutMs = 10_000;
const connectMs = 5_000;

export interface ServerProcess {
  exited: Promise<void>;
  /** Ends every session; after a timeout at once: the next start recovers. */
  stop: () => Promise<void>;
  /** Why it has ended, with its last log lines; empty while it runs, and after a stop. */
  reason: () => string;
}

/** @param extra settings, `name=value` */
export function spawnServer(
  { home, user, bin, database }: Cluster,
  port: number,
  extra: readonly string[] = [],
): ServerProcess {
  const flags = [...settings, ...extra].flatMap((setting) => ['-c', setting]);
  const args = ['-c', watched, 'sh', join(bin, 'postgres'), '-D', database, '-p', String(port), ...flags];
  const log = join(home, 'postgresql.log');
  rmSync(log, { force: true });
  const out = openSync(log, 'wx', 0o600);
  // In a process group of its own: Ctrl-C reaches the receiver, and not the database that it still needs.
  const child = spawn('/bin/sh', args, { ...user, cwd: home, detached: true, stdio: ['pipe', out, out] });
  closeSync(out);
  child.stdin?.on('error', () => {}); // it may have ended
  let failure = '';
  let isStopping = false;
  const exited = once(child, 'exit').then(
    ([code, signal]) => {
      if (!isStopping) failure = `it ended with ${signal ?? `exit code ${code}`}`;
      child.stdin?.end('\n');
    },
    (error) => {
      failure = error.message;
    },
  );
  return {
    exited,
    stop: async () => {
      isStopping = true;
      child.kill('SIGINT');
      await withTimeout(stopTimeoutMs, exited).catch(() => child.kill('SIGQUIT'));
      await exited;
    },
    reason: () =>
      failure && `${failure}\n${readFileSync(log, 'utf8').trim().split('\n').slice(-5).join('\n')}`,
  };
}

/** The server that runs on a data directory, by its `postmaster.pid`. */
export function findServer(database: string): { pid: number; port: number } | undefined {
  const file = join(database, 'postmaster.pid');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  if (!pid || !isAlive(pid)) return undefined;
  const command = `/proc/${pid}/cmdline`;
  if (!existsSync(command) || readFileSync(command, 'utf8').includes(`-D\0${database}\0`))
    return { pid, port };
  // Another program, after a power cut for example: PostgreSQL would take it for the server.
  rmSync(file);
  return undefined;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

export async function tryConnection(url: string): Promise<Error | undefined> {
  try {
    // It reads the files of certificates.
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectMs });
    await client.connect();
    await client.end();
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/** Below the ephemeral ports, which an outgoing connection could occupy while the server is down. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    if (!(await findBindError(port))) return port;
  }
}

export async function findBindError(port: number, host = '127.0.0.1'): Promise<Error | undefined> {
  const probe = createServer((socket) => socket.destroy()).listen(port, host);
  return once(probe, 'listening').then(
    async () => {
      await once(probe.close(), 'close');
      return undefined;
    },
    (error: Error) => error,
  );
}
