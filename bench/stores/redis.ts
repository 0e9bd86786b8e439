import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { Redis } from 'ioredis';
import { freePort } from '../../src/store/embedded/free-port.ts';
import { findProgram } from '../../test/support/programs.ts';
import { tracked } from '../process/program.ts';

export interface BenchRedis {
  pid: number;
  url: string;
  version: string;
  /** Deletes everything. */
  empty: () => Promise<void>;
  stop: () => Promise<void>;
}

/** A Redis server with an append-only file that is synced every second. */
export async function startRedis(folder: string): Promise<BenchRedis> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const settings = {
    port,
    bind: '127.0.0.1',
    dir: folder,
    save: '',
    appendonly: 'yes',
    appendfsync: 'everysec',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const server = tracked(spawn(findProgram('redis-server'), args, { stdio: 'ignore' }));
  const client = new Redis(port, { retryStrategy: () => 50, maxRetriesPerRequest: null });
  client.on('error', () => {}); // it is starting
  const info = await client.info('server');
  return {
    pid: server.pid!,
    url: `redis://127.0.0.1:${port}`,
    version: `${/redis_version:(\S+)/.exec(info)?.[1]} (appendonly, fsync every second)`,
    empty: async () => {
      await client.flushall();
    },
    stop: async () => {
      client.disconnect();
      const ended = once(server, 'exit');
      server.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
