import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createLog } from '../../src/log.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/index.ts';
import { spawnService, type TestProcess } from '../support/process.ts';
import { freePort, startRedis, type TestRedis } from '../support/redis.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

export type Backend = 'redis' | 'postgresql';

/** Real processes, each of which can be killed, and the link between them and the database. */
export interface Stage {
  /** Where callbacks are sent to. */
  url: string;
  databaseUrl: string;
  redis: TestRedis | undefined;
  link: TcpProxy;
  /** Starts a role again, after it was killed. */
  start: (role: 'receiver' | 'worker') => Promise<void>;
  processOf: (role: 'receiver' | 'worker') => TestProcess;
  /** Sends a signal to the database server and all its processes. */
  signalDatabase: (signal: 'STOP' | 'CONT' | 'KILL') => void;
  rows: (query: string) => Promise<Record<string, unknown>[]>;
  stop: () => Promise<void>;
}

/** Sets up PostgreSQL, Redis where the queue is there, a receiver and a worker, none of which others share. */
export async function setStage(backend: Backend): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-chaos-'));
  const database = await startEmbeddedPostgres(folder, createLog('silent'));
  const redis =
    backend === 'redis' ? await startRedis(['--appendonly', 'yes', '--appendfsync', 'always']) : undefined;
  const address = new URL(database.url);
  const link = await startTcpProxy(Number(address.port));
  address.port = String(link.port);
  const port = String(await freePort());
  const processes = new Map<string, TestProcess>();
  const env = {
    DATABASE_URL: address.href,
    PORT: port,
    ...(redis ? { REDIS_URL: redis.url } : {}),
  };
  const start = async (role: 'receiver' | 'worker') => {
    processes.set(role, await spawnService({ ...env, ROLE: role }));
  };
  await start('receiver');
  await start('worker');
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));

  const signalDatabase = (signal: 'STOP' | 'CONT' | 'KILL') => {
    const [pid] = readFileSync(join(folder, 'database/postmaster.pid'), 'utf8').split('\n');
    const children = signal === 'KILL' ? [] : childrenOf(pid!);
    for (const one of [pid!, ...children]) process.kill(Number(one), `SIG${signal}`);
  };

  return {
    url: `http://127.0.0.1:${port}`,
    databaseUrl: database.url,
    redis,
    link,
    start,
    processOf: (role) => processes.get(role)!,
    signalDatabase,
    rows: async (query) => (await pool.query(query)).rows,
    stop: async () => {
      redis?.process.kill('SIGCONT');
      signalDatabase('CONT');
      await Promise.all([...processes.values()].map((service) => service.end('SIGTERM')));
      await pool.end();
      await link.stop();
      await redis?.stop();
      await database.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function childrenOf(pid: string): string[] {
  const list = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return list.split(' ').filter(Boolean);
}
