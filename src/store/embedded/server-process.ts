import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import type { Place } from './place.ts';

// The server ends when we do, however we end: a reader beside it waits for our end of its standard input
// to close. It is started twice removed, so that the server does not take it for a child of its own.
const watched = 'exec 3<&0; ( (read -r _ <&3; kill -INT $$) & ) 2>/dev/null; exec "$@" 3<&- </dev/null';

const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // Messages of level ERROR quote the data that they refuse.
  log_min_messages: 'fatal',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  // Room for a burst of some seventy thousand callbacks.
  min_wal_size: '256MB',
};

export interface ServerProcess {
  exited: Promise<void>;
  /** Ends every session, then the server: a clean shutdown. */
  stop: () => Promise<void>;
  /** What it wrote last: the reason, where it could not start. */
  lastWords: () => string;
}

/**
 * Starts the server's program on a database folder and a port of 127.0.0.1, in a session of its own, so
 * that Ctrl-C in a terminal reaches the service and not the database that it still needs.
 *
 * @param extra settings beside those of the service, `name=value`
 */
export function spawnServer(
  { home, user }: Place,
  bin: string,
  database: string,
  port: number,
  extra: readonly string[],
): ServerProcess {
  const given = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  const flags = [...given, ...extra].flatMap((setting) => ['-c', setting]);
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
  child.stdin?.on('error', () => {}); // it may be gone before us
  const exited = once(child, 'exit').then(() => {
    child.stdin?.end();
  });
  return {
    exited,
    stop: async () => {
      child.kill('SIGINT');
      await exited;
    },
    lastWords: () => readFileSync(log, 'utf8').trim().split('\n').slice(-5).join('\n'),
  };
}
