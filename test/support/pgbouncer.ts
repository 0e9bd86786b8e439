import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/embedded/server-process.ts';
import { findProgram } from './programs.ts';
import { queryOnce } from './query-once.ts';
import { until } from './until.ts';

/** Starts PgBouncer in transaction mode. @param url of a database @returns the url of the database through it */
export async function startPgBouncer(url: string) {
  const { hostname, port, username, password } = new URL(url);
  const folder = mkdtempSync(join(tmpdir(), 'pgbouncer-'));
  const listenPort = await freePort();
  await writeFile(join(folder, 'users'), `"${username}" "${decodeURIComponent(password)}"\n`);
  const configuration = join(folder, 'pgbouncer.ini');
  await writeFile(
    configuration,
    [
      '[databases]',
      `* = host=${hostname} port=${port}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${listenPort}`,
      'unix_socket_dir =',
      'auth_type = trust',
      `auth_file = ${join(folder, 'users')}`,
      'pool_mode = transaction',
      'default_pool_size = 10',
      'max_client_conn = 500',
    ].join('\n'),
  );
  await chmod(folder, 0o755);
  // It does not run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const bouncer = spawn(findProgram('pgbouncer'), [...user, configuration], { stdio: 'ignore' });
  const through = Object.assign(new URL(url), { hostname: '127.0.0.1', port: listenPort }).href;
  await until(async () => {
    if (bouncer.exitCode !== null) throw new Error(`PgBouncer ended with ${bouncer.exitCode}.`);
    return queryOnce(through, 'select 1').catch(() => undefined);
  });
  return {
    url: through,
    stop: async () => {
      const exited = once(bouncer, 'exit');
      bouncer.kill('SIGINT');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
