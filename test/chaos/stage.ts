import { mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { Readiness } from '../../src/http/health.ts';
import { createLog } from '../../src/log.ts';
import { freePort } from '../../src/store/embedded/free-port.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/index.ts';
import { spawnService, type TestProcess } from '../support/process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

export type Backend = 'redis' | 'postgresql';

export type Role = 'receiver' | 'worker';

/** Real processes, each of which can be killed, and the link between them and the database. */
export interface Stage {
  /** Where callbacks are sent to: the first receiver. */
  url: string;
  /** Where each receiver listens, also while it is away. */
  urls: string[];
  databaseUrl: string;
  /** The folder of the database's files. */
  folder: string;
  redis: TestRedis | undefined;
  link: TcpProxy;
  /** Starts a process again, after it was ended. */
  start: (role: Role, index?: number) => Promise<void>;
  processOf: (role: Role, index?: number) => TestProcess;
  /** Sends a signal to the database server and all its processes. */
  signalDatabase: (signal: 'STOP' | 'CONT' | 'KILL') => void;
  rows: (query: string) => Promise<Record<string, unknown>[]>;
  /** What the first receiver says of its parts, details included. */
  parts: () => Promise<Readiness['parts']>;
  stop: () => Promise<void>;
}

export interface StageOptions {
  /** How many receivers, and how many workers. Default: 1. */
  each?: number;
  /** Another Redis than one of the stage's own. */
  redisUrl?: string;
  /** Where the database's files are to lie. */
  folder?: string;
}

const adminToken = 'an-admin-token-of-tests';

// Log files of a database on a small disk must not fill it.
const settings = ['max_wal_size=96MB', 'min_wal_size=32MB'];

/** Sets up PostgreSQL, Redis where the queue is there, receivers and workers, none of which others share. */
export async function setStage(backend: Backend, options: StageOptions = {}): Promise<Stage> {
  const { each = 1, folder = mkdtempSync(join(tmpdir(), 'receiver-chaos-')) } = options;
  const database = await startEmbeddedPostgres(folder, createLog('silent'), settings);
  const redis =
    backend === 'redis' && !options.redisUrl
      ? await startRedis(['--appendonly', 'yes', '--appendfsync', 'always'])
      : undefined;
  const redisUrl = options.redisUrl ?? redis?.url;
  const address = new URL(database.url);
  const link = await startTcpProxy(Number(address.port));
  address.port = String(link.port);
  const ports = await Promise.all(Array.from({ length: each }, freePort));
  const processes = new Map<string, TestProcess>();
  const start = async (role: Role, index = 0) => {
    const env = {
      DATABASE_URL: address.href,
      PORT: String(ports[index]),
      ROLE: role,
      ADMIN_TOKEN: adminToken,
      ...(redisUrl ? { REDIS_URL: redisUrl } : {}),
    };
    processes.set(`${role} ${index}`, await spawnService(env));
  };
  for (const [index] of ports.entries()) {
    await start('receiver', index);
    await start('worker', index);
  }
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));

  const signalDatabase = (signal: 'STOP' | 'CONT' | 'KILL') => {
    const [pid] = readFileSync(join(folder, 'database/postmaster.pid'), 'utf8').split('\n');
    const children = signal === 'KILL' ? [] : childrenOf(pid!);
    for (const one of [pid!, ...children]) process.kill(Number(one), `SIG${signal}`);
  };
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);

  return {
    url: urls[0]!,
    urls,
    databaseUrl: database.url,
    folder,
    redis,
    link,
    start,
    processOf: (role, index = 0) => processes.get(`${role} ${index}`)!,
    signalDatabase,
    parts: async () => {
      const headers = { Authorization: `Bearer ${adminToken}` };
      return ((await (await fetch(`${urls[0]}/readyz`, { headers })).json()) as Readiness).parts;
    },
    rows: async (query) => (await pool.query(query)).rows,
    stop: async () => {
      redis?.process.kill('SIGCONT');
      signalDatabase('CONT');
      await Promise.all([...processes.values()].map((service) => service.end('SIGTERM')));
      await pool.end();
      await link.stop();
      await redis?.stop();
      await database.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function childrenOf(pid: string): string[] {
  const list = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return list.split(' ').filter(Boolean);
}
