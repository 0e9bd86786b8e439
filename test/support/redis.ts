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
  process: ChildProcess;
  /** Starts it again on the same port and files after it was killed. */
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
  const start = async () => {
    const place = ['--port', String(port), '--bind', address, '--protected-mode', 'no', '--dir', folder];
    const server = [process.env.TEST_REDIS_SERVER!, ...place, '--save', '', ...durable, ...options];
    const [program, ...args] = server;
    redis.process = spawn(program!, args, { stdio: 'ignore' });
    const probe = new Redis(port, address, { retryStrategy: () => 20, maxRetriesPerRequest: null });
    probe.on('error', () => {});
    await probe.ping();
    probe.disconnect();
  };
  const redis: TestRedis = {
    url: `redis://${address}:${port}`,
    port,
    folder,
    process: undefined as unknown as ChildProcess,
    restart: start,
    client: () => {
      const client = new Redis(port, address);
      clients.push(client);
      return client;
    },
    stop: async () => {
      for (const client of clients) client.disconnect();
      if (redis.process.exitCode === null && redis.process.signalCode === null) {
        redis.process.kill('SIGKILL');
        await once(redis.process, 'exit');
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await start();
  return redis;
}

/** One for all tests of the file. */
export function useRedis(): Pick<TestRedis, 'url' | 'client'> {
  const redis = {} as TestRedis;
  beforeAll(async () => {
    Object.assign(redis, await startRedis());
  });
  afterAll(() => redis.stop());
  return redis;
}
