import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../../src/embedded/server-process.ts';

export interface TestRedis {
  url: string;
  port: number;
  folder: string;
  signal: (signal: 'SIGSTOP' | 'SIGCONT') => void;
  /** Resolves once it has ended. */
  kill: () => Promise<void>;
  /** Starts it again on the same port and files. */
  restart: () => Promise<void>;
  client: () => Redis;
  stop: () => Promise<void>;
}

/** What Redis needs to acknowledge callbacks. */
const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory-policy', 'noeviction'];

/** Starts a Redis that keeps what it confirms. @param options of redis-server, such as `--appendonly no` */
export async function startRedis(options: string[] = []): Promise<TestRedis> {
  const address = '127.0.0.1';
  const folder = mkdtempSync(join(tmpdir(), 'receiver-redis-'));
  const port = await freePort();
  const clients: Redis[] = [];
  let server: ChildProcess;
  const start = async () => {
    const place = ['--port', String(port), '--bind', address, '--protected-mode', 'no', '--dir', folder];
    const args = [...place, '--save', '', '--repl-diskless-sync-delay', '0', ...durable, ...options];
    server = spawn(process.env.TEST_REDIS_SERVER!, args, { stdio: 'ignore' });
    const probe = new Redis(port, address, { retryStrategy: () => 20, maxRetriesPerRequest: null });
    probe.on('error', () => {});
    await probe.ping();
    probe.disconnect();
  };
  const kill = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.kill('SIGKILL');
    await once(server, 'exit');
  };
  await start();
  return {
    url: `redis://${address}:${port}`,
    port,
    folder,
    signal: (signal) => void server.kill(signal),
    kill,
    restart: start,
    client: () => {
      const client = new Redis(port, address);
      clients.push(client);
      return client;
    },
    stop: async () => {
      for (const client of clients) client.disconnect();
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** One for all tests of the file, or a new one for each. */
export function useRedis(per: 'file' | 'test' = 'file'): TestRedis {
  const redis = {} as TestRedis;
  const [before, after] = per === 'file' ? [beforeAll, afterAll] : [beforeEach, afterEach];
  before(async () => {
    Object.assign(redis, await startRedis());
  });
  after(() => redis.stop());
  return redis;
}
