import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from '../../src/store/embedded/free-port.ts';
import { spawnService, type TestProcess } from '../support/process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { startTestServer } from '../support/test-server.ts';
import { until } from '../support/until.ts';
import { type FaultyDisk, useDisk } from './faulty-disk.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

export type Backend = 'redis' | 'postgresql';

const roles = ['receiver', 'worker'] as const;
export type Role = (typeof roles)[number];

/** Receivers and workers in processes of their own, their stores, and the links between them, which can all fail. */
export interface Deployment {
  /** Of the first receiver. */
  url: string;
  /** Of each receiver, through the sender's links. */
  urls: string[];
  /** Of each receiver, without a link. */
  directUrls: string[];
  databaseUrl: string;
  /** The folder of the database's files. */
  folder: string;
  redis: TestRedis | undefined;
  /** To the database. */
  link: TcpProxy;
  /** To the deployment's own Redis. */
  redisLink: TcpProxy | undefined;
  /** From the sender to each receiver. */
  senderLinks: TcpProxy[];
  /** Of both stores, if it was given. */
  disk: FaultyDisk | undefined;
  /** Starts a process again after its end. */
  start: (role: Role, index?: number) => Promise<void>;
  processOf: (role: Role, index?: number) => TestProcess;
  /** Sends a signal to the database server and all its processes. */
  signalDatabase: (signal: 'STOP' | 'CONT' | 'KILL') => void;
  /** Kills the database server; resolves once it has been started again. */
  killDatabase: () => Promise<void>;
  rows: (query: string) => Promise<Record<string, unknown>[]>;
  /** `parts` of the first receiver's /readyz. */
  readiness: () => Promise<Record<string, { detail: string }>>;
  /** Sets the offset of the wall clock of all receivers and workers, or of those with a role. */
  setClock: (seconds: number, role?: Role) => void;
  /** Of all processes so far. */
  logLines: () => string[];
  stop: () => Promise<void>;
}

export interface DeploymentOptions {
  /** Number of receivers, and of workers. Default: 1. */
  each?: number;
  /** An existing Redis instead of the deployment's own. */
  redisUrl?: string;
  /** For the database's files. */
  folder?: string;
  /** For both stores. */
  disk?: FaultyDisk | undefined;
  /** Additional variables of the processes. */
  env?: Record<string, string>;
}

const adminToken = 'an-admin-token-of-tests';

const settings = [
  // The write-ahead log must not fill a small disk.
  'max_wal_size=96MB',
  'min_wal_size=32MB',
  'max_prepared_transactions=10',
  // The queue of notifications is filled: 512 kB, the minimum.
  'max_notify_queue_pages=64',
];

/** Starts PostgreSQL, Redis if the queue is there, receivers and workers, for this test alone. */
export async function startDeployment(
  backend: Backend,
  options: DeploymentOptions = {},
): Promise<Deployment> {
  const { each = 1, folder = mkdtempSync(join(tmpdir(), 'receiver-chaos-')) } = options;
  const database = await startDatabase(folder, options);
  const redis =
    backend === 'redis' && !options.redisUrl
      ? await startRedis([], {
          address: '127.0.0.1',
          on: options.disk ? ['env', ...assignments(options.disk.variables)] : [],
        })
      : undefined;
  const redisLink = redis && (await startTcpProxy(redis.port));
  const redisUrl = options.redisUrl ?? (redisLink && `redis://127.0.0.1:${redisLink.port}`);
  const address = new URL(database.url);
  const link = await startTcpProxy(Number(address.port));
  address.port = String(link.port);
  const ports = await Promise.all(Array.from({ length: each }, freePort));
  const processes = new Map<string, TestProcess>();
  const ended: TestProcess[] = [];
  const clockFile = (role: Role) => join(folder, `clock of ${role}`);
  for (const role of roles) writeFileSync(clockFile(role), '0');
  const start = async (role: Role, index = 0) => {
    const env = {
      DATABASE_URL: address.href,
      PORT: role === 'receiver' ? String(ports[index]) : '0',
      ROLE: role,
      ADMIN_TOKEN: adminToken,
      NODE_OPTIONS: `--require ${JSON.stringify(join(process.cwd(), 'test/chaos/clock.cjs'))}`,
      CLOCK_FILE: clockFile(role),
      ...(redisUrl ? { REDIS_URL: redisUrl } : {}),
      ...options.env,
    };
    const before = processes.get(`${role} ${index}`);
    if (before) ended.push(before);
    processes.set(`${role} ${index}`, await spawnService(env));
  };
  await Promise.all(ports.flatMap((_port, index) => [start('receiver', index), start('worker', index)]));
  const pool = openPool(database.url);

  const serverPid = () => String(database.pid() ?? '');
  const killDatabase = async () => {
    const pid = serverPid();
    process.kill(Number(pid), 'SIGKILL');
    await until(() => !['', pid].includes(serverPid()));
    await until(() => pool.query('select 1').catch(() => undefined));
  };
  const signalDatabase = (signal: 'STOP' | 'CONT' | 'KILL') => {
    const pid = serverPid();
    const children = signal === 'KILL' ? [] : childrenOf(pid);
    process.kill(Number(pid), `SIG${signal}`);
    for (const child of children) {
      try {
        process.kill(Number(child), `SIG${signal}`);
      } catch (error) {
        // A server process that has ended meanwhile.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
  };
  const directUrls = ports.map((port) => `http://127.0.0.1:${port}`);
  const url = directUrls[0]!;
  const senderLinks = await Promise.all(ports.map((port) => startTcpProxy(port)));

  return {
    url,
    urls: senderLinks.map(({ port }) => `http://127.0.0.1:${port}`),
    directUrls,
    databaseUrl: database.url,
    folder,
    redis,
    link,
    redisLink,
    senderLinks,
    disk: options.disk,
    start,
    processOf: (role, index = 0) => processes.get(`${role} ${index}`)!,
    signalDatabase,
    killDatabase,
    readiness: async () => {
      const headers = { Authorization: `Bearer ${adminToken}` };
      const response = await fetch(`${url}/readyz`, { headers });
      return ((await response.json()) as { parts: Record<string, { detail: string }> }).parts;
    },
    rows: async (query) => (await pool.query(query)).rows,
    setClock: (seconds, role) => {
      for (const one of role ? [role] : roles) writeFileSync(clockFile(one), String(seconds));
      for (const { child } of processes.values()) child.kill('SIGPROF');
    },
    logLines: () =>
      [...ended, ...processes.values()].flatMap((one) => one.output().split('\n').filter(Boolean)),
    stop: async () => {
      options.disk?.set('none');
      redis?.process.kill('SIGCONT');
      signalDatabase('CONT');
      await Promise.all([...processes.values()].map((service) => service.end('SIGTERM')));
      await pool.end();
      for (const one of [link, redisLink, ...senderLinks]) await one?.stop();
      await redis?.stop();
      await database.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const assignments = (variables: Record<string, string>): string[] =>
  Object.entries(variables).map(([name, value]) => `${name}=${value}`);

/** A server that is started again whenever it ends. */
async function startDatabase(folder: string, { disk }: DeploymentOptions) {
  const prepare = async () => disk && useDisk(folder, disk);
  const server = await startTestServer(settings, { state: 'migrated', folder, prepare });
  let isStopping = false;
  void (async () => {
    for (;;) {
      await server.exited();
      if (isStopping) return;
      await pause(500);
      await server.restart().catch(() => {}); // its disk is full, for example
    }
  })();
  const stop = () => {
    isStopping = true;
    return server.stop();
  };
  return { ...server, stop };
}

function openPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

export function childrenOf(pid: string): string[] {
  const list = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return list.split(' ').filter(Boolean);
}
