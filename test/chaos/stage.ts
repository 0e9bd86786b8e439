import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createLog } from '../../src/log.ts';
import { freePort } from '../../src/store/embedded/free-port.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/index.ts';
import { spawnService, type TestProcess } from '../support/process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { setSynchronous, startPrimary, startStandby } from '../support/standby.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

export type Backend = 'redis' | 'postgresql';

export type Role = 'receiver' | 'worker';

/** Real processes, each of which can be killed, and the links between them and their stores. */
export interface Stage {
  /** Where callbacks are sent to: the first receiver. */
  url: string;
  /** Where each receiver listens, also while it is away. */
  urls: string[];
  readonly databaseUrl: string;
  /** The folder of the database's files. */
  folder: string;
  redis: TestRedis | undefined;
  /** To the database. */
  link: TcpProxy;
  /** To the stage's own Redis. */
  redisLink: TcpProxy | undefined;
  /** Starts a process again, after it was ended. */
  start: (role: Role, index?: number) => Promise<void>;
  processOf: (role: Role, index?: number) => TestProcess;
  /** Sends a signal to the database server and all its processes. */
  signalDatabase: (signal: 'STOP' | 'CONT' | 'KILL') => void;
  rows: (query: string) => Promise<Record<string, unknown>[]>;
  /** What the first receiver says of its parts, details included. */
  parts: () => Promise<Record<string, { detail: string }>>;
  /** Where the stage has a standby: kills the primary, and promotes the standby at the primary's address. */
  failOver: () => Promise<void>;
  /** Puts the wall clock of all receivers and workers so many seconds off. */
  setClock: (seconds: number) => void;
  /** What all processes have written so far. */
  logLines: () => string[];
  stop: () => Promise<void>;
}

export interface StageOptions {
  /** How many receivers, and how many workers. Default: 1. */
  each?: number;
  /** Another Redis than one of the stage's own. */
  redisUrl?: string;
  /** Where the database's files are to lie. */
  folder?: string;
  /** Gives PostgreSQL a synchronous standby. */
  standby?: boolean;
  /** Variables of the processes. */
  env?: Record<string, string>;
}

const adminToken = 'an-admin-token-of-tests';

// Log files of a database on a small disk must not fill it.
const settings = ['max_wal_size=96MB', 'min_wal_size=32MB'];

/** Sets up PostgreSQL, Redis where the queue is there, receivers and workers, none of which others share. */
export async function setStage(backend: Backend, options: StageOptions = {}): Promise<Stage> {
  const { each = 1, folder = mkdtempSync(join(tmpdir(), 'receiver-chaos-')) } = options;
  const database = await startDatabase(folder, options.standby ?? false);
  const redis =
    backend === 'redis' && !options.redisUrl
      ? await startRedis(['--appendonly', 'yes', '--appendfsync', 'always'])
      : undefined;
  const redisLink = redis && (await startTcpProxy(redis.port));
  const redisUrl = options.redisUrl ?? (redisLink && `redis://127.0.0.1:${redisLink.port}`);
  const address = new URL(database.url);
  const link = await startTcpProxy(Number(address.port));
  address.port = String(link.port);
  const ports = await Promise.all(Array.from({ length: each }, freePort));
  const processes = new Map<string, TestProcess>();
  const ended: TestProcess[] = [];
  const clockFile = join(folder, 'clock');
  writeFileSync(clockFile, '0');
  const start = async (role: Role, index = 0) => {
    const env = {
      DATABASE_URL: address.href,
      PORT: String(ports[index]),
      ROLE: role,
      ADMIN_TOKEN: adminToken,
      NODE_OPTIONS: `--require ${JSON.stringify(join(process.cwd(), 'test/chaos/clock.cjs'))}`,
      CLOCK_FILE: clockFile,
      ...(redisUrl ? { REDIS_URL: redisUrl } : {}),
      ...options.env,
    };
    const before = processes.get(`${role} ${index}`);
    if (before) ended.push(before);
    processes.set(`${role} ${index}`, await spawnService(env));
  };
  for (const [index] of ports.entries()) {
    await start('receiver', index);
    await start('worker', index);
  }
  let databaseUrl = database.url;
  let pool = openPool(databaseUrl);

  const signalDatabase = (signal: 'STOP' | 'CONT' | 'KILL') => {
    const [pid] = readFileSync(join(database.home, 'database/postmaster.pid'), 'utf8').split('\n');
    const children = signal === 'KILL' ? [] : childrenOf(pid!);
    for (const one of [pid!, ...children]) process.kill(Number(one), `SIG${signal}`);
  };
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);

  return {
    url: urls[0]!,
    urls,
    get databaseUrl() {
      return databaseUrl;
    },
    folder,
    redis,
    link,
    redisLink,
    start,
    processOf: (role, index = 0) => processes.get(`${role} ${index}`)!,
    signalDatabase,
    parts: async () => {
      const headers = { Authorization: `Bearer ${adminToken}` };
      const answer = await fetch(`${urls[0]}/readyz`, { headers });
      return ((await answer.json()) as { parts: Record<string, { detail: string }> }).parts;
    },
    rows: async (query) => (await pool.query(query)).rows,
    failOver: async () => {
      link.cut();
      databaseUrl = await database.failOver!();
      link.lead(Number(new URL(databaseUrl).port));
      await pool.end();
      pool = openPool(databaseUrl);
      await link.mend();
    },
    setClock: (seconds) => {
      writeFileSync(clockFile, String(seconds));
      for (const { child } of processes.values()) child.kill('SIGUSR2');
    },
    logLines: () =>
      [...ended, ...processes.values()].flatMap((one) => one.output().split('\n').filter(Boolean)),
    stop: async () => {
      redis?.process.kill('SIGCONT');
      if (!options.standby) signalDatabase('CONT');
      await Promise.all([...processes.values()].map((service) => service.end('SIGTERM')));
      await pool.end();
      await link.stop();
      await redisLink?.stop();
      await redis?.stop();
      await database.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface StageDatabase {
  url: string;
  /** The folder of its files. */
  home: string;
  /** Returns the address of the server that was promoted. */
  failOver?: () => Promise<string>;
  stop: () => Promise<void>;
}

async function startDatabase(folder: string, withStandby: boolean): Promise<StageDatabase> {
  if (!withStandby) {
    return { ...(await startEmbeddedPostgres(folder, createLog('silent'), settings)), home: folder };
  }
  const primary = await startPrimary(settings);
  const standby = await startStandby(primary, settings);
  await setSynchronous(primary, true);
  return {
    url: primary.url,
    home: primary.place.home,
    failOver: async () => {
      await primary.kill();
      await standby.promote();
      return standby.url;
    },
    stop: async () => {
      await standby.stop();
      await primary.stop();
    },
  };
}

function openPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

function childrenOf(pid: string): string[] {
  const list = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return list.split(' ').filter(Boolean);
}
