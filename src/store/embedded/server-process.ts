import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
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
  const options = {
    ...user,
    cwd: home,
    detached: true,
    stdio: ['pipe', out, out] as ['pipe', number, number],
  };
  const child: ChildProcess =
    platform() === 'win32'
      ? spawn(server[0]!, server.slice(1), options)
      : spawn('/bin/sh', ['-c', watched, 'sh', ...server], options);
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
