import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../log.ts';
import { provideBinaries } from './binaries.ts';
import { type Cluster, provideCluster } from './cluster.ts';
import { answers, choosePort, createDatabase, urlOf } from './connection.ts';
import { isAlive, isPostgres, readLockFile } from './lock-file.ts';
import { findPlace } from './place.ts';
import { preallocateWal } from './preallocate-wal.ts';
import { type ServerProcess, spawnServer } from './server-process.ts';
import { supervise } from './supervise.ts';

export interface EmbeddedPostgres {
  url: string;
  /** Stops the server, if it was this process that started it. */
  stop: () => Promise<void>;
}

const timeoutMs = 60_000;
const leavingMs = 5_000;

/**
 * A PostgreSQL server of our own under DATA_DIR: the running one, or a new one on the same data.
 *
 * The process that starts the server owns it: it starts it again should it die, and stops it. Others, such
 * as a command typed while the service runs, use it as guests. A server whose owner is gone is on its way
 * out; it is waited for, and told to end if it lingers.
 *
 * @param settings settings of PostgreSQL, `name=value`
 * @param signal ends the start: no process of it is left once this has raised the signal's reason
 * @throws NoEmbeddedPostgres where its binaries are not installed; Error with the server's own reason
 */
export async function startEmbeddedPostgres(
  dataDir: string,
  log: Log,
  settings: readonly string[] = [],
  signal?: AbortSignal,
): Promise<EmbeddedPostgres> {
  const place = findPlace(dataDir);
  const bin = await provideBinaries(place.home);
  const cluster = await provideCluster(place, bin, signal);
  const owner = join(place.home, 'owner');
  const began = performance.now();

  for (;;) {
    signal?.throwIfAborted();
    const port = await choosePort(place.home);
    const start = () =>
      untilReady(spawnServer(place, bin, cluster.database, port, settings), cluster, port, signal);
    const running = await findRunning(cluster, owner);
    if (running.state === 'answers') return { url: running.url, stop: async () => {} };
    if (running.state === 'none') {
      const server = await start().catch((error) => {
        signal?.throwIfAborted();
        if (!readLockFile(cluster.database)) throw error;
        return undefined; // another process was faster
      });
      if (server) {
        await createDatabase(cluster, port);
        const url = urlOf(cluster, port);
        writeFileSync(join(place.home, 'port'), String(port));
        writeFileSync(join(place.home, 'connection-url'), `${url}\n`, { mode: 0o600 });
        writeFileSync(owner, String(process.pid));
        log.info({ home: place.home }, 'the embedded PostgreSQL runs');
        const stop = supervise(server, start, log);
        const leaveLog = preallocateWal(url, cluster.database, log);
        return {
          url,
          stop: async () => {
            await leaveLog();
            await stop();
            rmSync(owner, { force: true });
          },
        };
      }
    }
    if (running.state === 'leaving' && performance.now() - began > leavingMs)
      process.kill(running.pid, 'SIGINT');
    if (performance.now() - began > timeoutMs) {
      throw new Error(`The PostgreSQL server on ${cluster.database} neither answers nor ends.`);
    }
    await sleep(50);
  }
}

type Running =
  | { state: 'none' | 'starting' }
  | { state: 'leaving'; pid: number }
  | { state: 'answers'; url: string };

/** Whether a server uses this database folder already, and what becomes of it. */
async function findRunning(cluster: Cluster, owner: string): Promise<Running> {
  const lock = readLockFile(cluster.database);
  if (!lock) return { state: 'none' };
  if (!isPostgres(lock.pid)) {
    // PostgreSQL would take whoever has that number now for the server.
    rmSync(join(cluster.database, 'postmaster.pid'), { force: true });
    return { state: 'none' };
  }
  const pid = existsSync(owner) ? Number(readFileSync(owner, 'utf8')) : 0;
  if (pid === process.pid || !isAlive(pid)) return { state: 'leaving', pid: lock.pid };
  const url = urlOf(cluster, lock.port);
  return (await answers(url)) ? { state: 'answers', url } : { state: 'starting' };
}

async function untilReady(
  server: ServerProcess,
  cluster: Cluster,
  port: number,
  signal?: AbortSignal,
): Promise<ServerProcess> {
  let ended = false;
  void server.exited.then(() => {
    ended = true;
  });
  const deadline = performance.now() + timeoutMs;
  try {
    while (!(await answers(urlOf(cluster, port, 'postgres')))) {
      signal?.throwIfAborted();
      if (ended) throw new Error(`The embedded PostgreSQL did not start: ${server.lastWords()}`);
      if (performance.now() > deadline)
        throw new Error('The embedded PostgreSQL started but does not answer.');
      await sleep(25);
    }
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}
