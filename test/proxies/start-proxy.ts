import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/store/embedded/free-port.ts';
import { findProgram } from '../support/programs.ts';
import { selfSigned } from '../support/self-signed.ts';
import { until } from '../support/until.ts';
import { openHttp1 } from './send.ts';

export const proxies = ['nginx', 'haproxy', 'caddy'] as const;
export type ProxyName = (typeof proxies)[number];

export interface RunningProxy {
  /** Such as https://localhost:12345; its certificate is `selfSigned`. */
  url: string;
  output: () => string;
  stop: () => Promise<void>;
}

/** What of an example has to be set. */
interface Settings {
  folder: string;
  port: number;
  /** The networks that may open the console. */
  internal?: string | undefined;
}

interface ProxyExample {
  file: string;
  /** Pairs of a text of the example and its replacement. */
  changes: (settings: Settings) => [string, string][];
  /** Additional files, and the arguments of the program. */
  run: (folder: string, config: string) => { args: string[]; files?: Record<string, string> };
  /** How a socket file is written in the place of `host:port`. */
  socket: (path: string) => string;
}

const certificates = ({ folder }: Settings): [string, string][] => [
  ['/etc/ssl/webhook-receiver/fullchain.pem', join(folder, 'cert.pem')],
  ['/etc/ssl/webhook-receiver/privkey.pem', join(folder, 'key.pem')],
];

const examples: Record<ProxyName, ProxyExample> = {
  nginx: {
    file: 'deploy/nginx/webhook-receiver.conf',
    changes: (settings) => [
      ...certificates(settings),
      ['listen 443 ', `listen 127.0.0.1:${settings.port} `],
      ['allow 127.0.0.0/8;', settings.internal ? `allow ${settings.internal};` : 'allow 127.0.0.0/8;'],
    ],
    run: (folder, config) => ({
      args: ['-p', folder, '-c', join(folder, 'nginx.conf'), '-g', 'daemon off;'],
      files: {
        // What Debian's /etc/nginx/nginx.conf does around the example, with folders of its own.
        'nginx.conf': `${process.getuid?.() === 0 ? `user ${userInfo().username};` : ''}
          worker_processes 1; pid ${folder}/pid; error_log stderr warn;
          events { worker_connections 1024; }
          http { access_log off; ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
            .map((kind) => `${kind}_temp_path ${folder}/${kind};`)
            .join(' ')} include ${config}; }`,
      },
    }),
    socket: (path) => `unix:${path}`,
  },
  haproxy: {
    file: 'deploy/haproxy/haproxy.cfg',
    changes: ({ folder, port, internal }) => [
      ['/etc/haproxy/webhook-receiver.pem', join(folder, 'both.pem')],
      ['bind :443 ', `bind 127.0.0.1:${port} `],
      ['user haproxy\n', '\n'],
      ['group haproxy\n', '\n'],
      ['log /dev/log local0 warning', 'log stdout format raw local0 warning'],
      ['10.0.0.0/8 127.0.0.0/8', internal ?? '10.0.0.0/8 127.0.0.0/8'],
    ],
    run: (_, config) => ({ args: ['-db', '-f', config] }),
    socket: (path) => path,
  },
  caddy: {
    file: 'deploy/caddy/Caddyfile',
    changes: (settings) => [
      ...certificates(settings),
      ['webhooks.example.org', `https://localhost:${settings.port}`],
      ['auto_https disable_redirects', 'auto_https disable_redirects\n\tadmin off'],
      ['10.0.0.0/8 127.0.0.0/8', settings.internal ?? '10.0.0.0/8 127.0.0.0/8'],
    ],
    run: (_, config) => ({ args: ['run', '--adapter', 'caddyfile', '--config', config] }),
    socket: (path) => `unix/${path}`, // for one receiver: its health checks of two do not work
  },
};

/**
 * Starts a proxy with its example of `deploy`, in which only ports, paths, certificates and networks are replaced.
 *
 * @param receivers the two receivers, each `host:port` or a socket file
 * @param internal the network that may open the console; default: as in the example
 */
export async function startProxy(
  name: ProxyName,
  receivers: readonly string[],
  internal?: string,
): Promise<RunningProxy> {
  const { file, changes, run, socket } = examples[name];
  const folder = mkdtempSync(join(tmpdir(), `receiver-${name}-`));
  chmodSync(folder, 0o755);
  const port = await freePort();
  const [first, second] = receivers.map((address) => (address.startsWith('/') ? socket(address) : address));
  const settings = { folder, port, internal };
  let text = readFileSync(file, 'utf8');
  for (const [from, to] of [
    ...changes(settings),
    ['127.0.0.1:8081', first!],
    ['127.0.0.1:8082', second!],
  ] as const) {
    if (!text.includes(from)) throw new Error(`${file} has no ${from}`);
    text = text.replaceAll(from, to);
  }
  const config = join(folder, 'config');
  const { args, files = {} } = run(folder, config);
  const { cert, key } = selfSigned;
  const all = { config: text, 'cert.pem': cert, 'key.pem': key, 'both.pem': `${cert}\n${key}\n`, ...files };
  for (const [path, content] of Object.entries(all)) writeFileSync(join(folder, path), content);
  const child = spawn(findProgram(name), args, {
    env: { PATH: process.env.PATH, HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  const stop = async () => {
    await end(child);
    rmSync(folder, { recursive: true, force: true });
  };
  const url = `https://localhost:${port}`;
  const probe = openHttp1(url, 'new');
  try {
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`${name} ended: ${output}`);
      return probe.send({ path: '/events', method: 'GET' }).catch(() => undefined);
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, output: () => output, stop };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}
