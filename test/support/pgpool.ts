import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/store/embedded/free-port.ts';
import { withClient } from '../../src/store/pool.ts';
import { findProgram } from './programs.ts';
import { until } from './until.ts';

/**
 * Starts pgpool in the mode `raw`, in front of the server of a database. It begins a transaction before a statement that
 * writes, and does not end it.
 *
 * @param url of a database
 * @param children how many clients it serves at a time
 */
export async function startPgpool(url: string, children = 64) {
  const { hostname, port } = new URL(url);
  const folder = mkdtempSync(join(tmpdir(), 'pgpool-'));
  const [listenPort, pcpPort] = [await freePort(), await freePort()];
  const settings = {
    backend_clustering_mode: 'raw',
    listen_addresses: '127.0.0.1',
    port: listenPort,
    pcp_listen_addresses: '127.0.0.1',
    pcp_port: pcpPort,
    unix_socket_directories: folder,
    pcp_socket_dir: folder,
    wd_ipc_socket_dir: folder,
    pid_file_name: join(folder, 'pgpool.pid'),
    logdir: folder,
    backend_hostname0: hostname,
    backend_port0: port,
    num_init_children: children,
    max_pool: 1,
    allow_clear_text_frontend_auth: 'on',
  };
  const configuration = join(folder, 'pgpool.conf');
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'`);
  await writeFile(configuration, lines.join('\n'));
  const options = ['-n', '-f', configuration, '-a', join(folder, 'none'), '-F', join(folder, 'pcp')];
  const pgpool = spawn(findProgram('pgpool2'), options, { stdio: 'ignore' });
  const through = (of: string) =>
    Object.assign(new URL(of), { hostname: '127.0.0.1', port: listenPort }).href;
  await until(() =>
    withClient(through(url), async () => true).catch(() => {
      if (pgpool.exitCode !== null) throw new Error(`pgpool ended with ${pgpool.exitCode}`);
      return false;
    }),
  );
  return {
    /** The address of a database through it. */
    through,
    stop: async () => {
      const exited = once(pgpool, 'exit');
      pgpool.kill('SIGINT');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
