import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../src/embedded/server-process.ts';
import { connect } from '../support/database.ts';
import { signalAll, spawnService, type TestProcess } from '../support/process.ts';
import { startRedis } from '../support/redis.ts';
import { startTestServer } from '../support/test-server.ts';
import { until } from '../support/until.ts';
import { startTcpProxy } from './tcp-proxy.ts';

export type Backend = 'redis' | 'postgresql';

export type Role = 'receiver' | 'worker' | 'another worker';

export type Deployment = Awaited<ReturnType<typeof startDeployment>>;

/** Starts a receiver and a worker in processes of their own, their stores, and the links between them, which can all fail. */
export async function startDeployment(backend: Backend) {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-chaos-'));
  const database = await startDatabase(folder);
  const redis = backend === 'redis' ? await startRedis() : undefined;
  const redisLink = redis && (await startTcpProxy(redis.port));
  const redisUrl = redisLink && `redis://127.0.0.1:${redisLink.port}`;
  const address = new URL(database.url);
  const link = await startTcpProxy(Number(address.port));
  address.port = String(link.port);
  const port = await freePort();
  const processes = new Map<Role, TestProcess>();
  const clockFile = join(folder, 'clock');
  writeFileSync(clockFile, '0');
  const start = async (role: Role) => {
    const env = {
      DATABASE_URL: address.href,
      PORT: role === 'receiver' ? String(port) : '0',
      ROLE: role === 'receiver' ? role : 'worker',
      NODE_OPTIONS: `--require ${JSON.stringify(join(process.cwd(), 'test/chaos/clock.cjs'))}`,
      CLOCK_FILE: clockFile,
      ...(redisUrl ? { REDIS_URL: redisUrl } : {}),
    };
    processes.set(role, await spawnService(env));
  };
  await Promise.all([start('receiver'), start('worker')]);
  const { pool, rows } = connect(database.url, 2);

  /** Resolves once it has been started again. */
  const killDatabase = async () => {
    const pid = database.pid()!;
    process.kill(pid, 'SIGKILL');
    await until(() => ![undefined, pid].includes(database.pid()));
    await until(() => rows('select 1').catch(() => undefined));
  };
  const signalDatabase = (signal: 'STOP' | 'CONT') => signalAll(database.pid()!, `SIG${signal}`);
  const url = `http://127.0.0.1:${port}`;

  return {
    url,
    databaseUrl: database.url,
    redis,
    link,
    redisLink,
    start,
    processOf: (role: Role) => processes.get(role)!,
    signalDatabase,
    killDatabase,
    rows,
    /** Shifts the wall clock of all processes. */
    setClock: (seconds: number) => {
      writeFileSync(clockFile, String(seconds));
      for (const { child } of processes.values()) child.kill('SIGPROF');
    },
    stop: async () => {
      redis?.signal('SIGCONT');
      signalDatabase('CONT');
      await Promise.all([...processes.values()].map((service) => service.end('SIGTERM')));
      await pool.end();
      for (const one of [link, redisLink]) await one?.stop();
      await redis?.stop();
      await database.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A server that is started again whenever it ends. */
async function startDatabase(folder: string) {
  const server = await startTestServer([], folder);
  let isStopping = false;
  void (async () => {
    for (;;) {
      await server.exited();
      if (isStopping) return;
      await pause(500);
      await server.restart().catch(() => {});
    }
  })();
  const stop = () => {
    isStopping = true;
    return server.stop();
  };
  return { ...server, stop };
}
