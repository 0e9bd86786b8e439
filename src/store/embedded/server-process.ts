import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, rmSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import type { Log } from '../../common/log.ts';
import { readTrusted } from '../../common/trusted-files.ts';
import { withTimeout } from '../../common/with-timeout.ts';
import { withClient } from '../pool.ts';
import type { Place } from './place.ts';
import { killServer } from './processes.ts';
import { explainLimit } from './run-program.ts';

// The server ends with this process, even after SIGKILL: a watcher beside the server reads from a pipe that closes with
// this process. It is a grandchild, so that the server does not mistake it for a child of its own. A line ends it without a
// signal: once the server has ended, its process id may be another program's.
// Descriptor 3 is the lock.
const watched = 'exec 4<&0; ( (read -r _ <&4 || kill -INT $$) & ) 2>/dev/null; exec "$@" 4<&- </dev/null';

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

/** How long to wait for the server's end after each signal, in ms. */
export type StopSignals = Partial<Record<'SIGINT' | 'SIGQUIT' | 'SIGKILL', number>>;

/** Ends a server that cannot shut down: PostgreSQL recovers from it without loss. It kills its own processes after 5 s. */
export const immediately: StopSignals = { SIGQUIT: 6_000, SIGKILL: 2_000 };

/** Fast shutdown: ends every session, writes a checkpoint, then ends the server. */
const fast: StopSignals = { SIGINT: 10_000, ...immediately };

export type ServerProcess = ReturnType<typeof spawnServer>;

/**
 * Starts a server on a data directory and a port of 127.0.0.1. It gets a process group of its own, so that Ctrl-C in a
 * terminal reaches the receiver and not the database that it still needs.
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
) {
  const own = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  const flags = [...own, ...extra].flatMap((setting) => ['-c', setting]);
  const server = [join(bin, 'postgres'), '-D', database, '-p', String(port), ...flags];
  const log = join(home, 'postgresql.log');
  rmSync(log, { force: true }); // in a folder of another user it may be a link
  const out = openSync(log, 'wx', 0o600);
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
      child.stdin?.end('\n');
    },
    (error) => {
      failure = error.message;
    },
  );
  const endsWithin = (timeoutMs: number) =>
    withTimeout(timeoutMs, exited).then(
      () => true,
      () => false, // the timeout: it never rejects
    );
  return {
    /** Undefined where it could not be started. */
    pid: child.pid,
    exited,
    /**
     * Stops it, with the next signal whenever it does not end after one: a fast shutdown unless others are given. It may
     * still run after the last, while the system does not let its processes end, as on a disk that hangs.
     */
    stop: async (log?: Pick<Log, 'warn'>, signals = fast): Promise<void> => {
      for (const [signal, timeoutMs] of Object.entries(signals)) {
        child.kill(signal as keyof StopSignals);
        if (signal === 'SIGKILL') killServer(database);
        if (await endsWithin(timeoutMs)) return;
        log?.warn({ signal, timeoutMs }, 'embedded PostgreSQL does not stop');
      }
    },
    /** Why it has ended: its exit code, and its last log lines. */
    reason: () => explainLimit([failure, lastLines(log)].filter(Boolean).join('\n')),
  };
}

function lastLines(file: string): string {
  try {
    return (readTrusted(file) ?? '').trim().split('\n').slice(-5).join('\n');
  } catch {
    return ''; // gone with its file system
  }
}

/** Why a database does not accept connections; undefined where it does. */
export function tryConnection(url: string): Promise<(Error & { code?: string }) | undefined> {
  return withClient(url, async () => undefined).catch((error) => error);
}
