import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../log.ts';
import { provideBinaries } from './binaries.ts';
import { type Cluster, provideCluster } from './cluster.ts';
import { acceptsConnections, choosePort, createDatabase, urlOf } from './connection.ts';
import { isAlive, isPostgres, readLockFile } from './lock-file.ts';
import { findPlace, type Place } from './place.ts';
import { preallocateWal } from './preallocate-wal.ts';
import { type ServerProcess, spawnServer } from './server-process.ts';
import { supervise } from './supervise.ts';

export interface EmbeddedPostgres {
  url: string;
  /** Stops the server if this process has started it. */
  stop: () => Promise<void>;
}

const startTimeoutMs = 60_000;
const stopTimeoutMs = 5_000;

/**
 * Connects to the PostgreSQL server on the data of DATA_DIR, and starts it unless it runs.
 *
 * The process that starts the server owns it: it restarts it after a crash, and stops it. Other processes, such as a
 * command, only use it. A server whose owner has ended is stopping: this waits for it, and ends it after a timeout.
 *
 * @param settings settings of PostgreSQL, `name=value`
 * @param signal aborts the start; the server has exited when this raises the signal's reason
 * @throws NoEmbeddedPostgres where its binaries are not installed; Error with the server's last log lines
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
  const began = performance.now();

  for (;;) {
    signal?.throwIfAborted();
    const running = await findRunning(place, cluster);
    if (running.state === 'running') return { url: running.url, stop: async () => {} };
    if (running.state === 'none') {
      const started = await startOwn({ place, bin, cluster, settings }, log, signal);
      if (started) return started;
    }
    const elapsedMs = performance.now() - began;
    if (running.state === 'stopping' && elapsedMs > stopTimeoutMs) process.kill(running.pid, 'SIGINT');
    if (elapsedMs > startTimeoutMs) {
      throw new Error(`The PostgreSQL server on ${cluster.database} neither accepts connections nor stops.`);
    }
    await sleep(50);
  }
}

interface OwnServer {
  place: Place;
  bin: string;
  cluster: Cluster;
  settings: readonly string[];
}

/** Starts a server that this process owns; undefined where another process was faster. */
async function startOwn(
  { place, bin, cluster, settings }: OwnServer,
  log: Log,
  signal?: AbortSignal,
): Promise<EmbeddedPostgres | undefined> {
  const port = await choosePort(place.home);
  const start = () =>
    untilReady(spawnServer(place, bin, cluster.database, port, settings), cluster, port, signal);
  const server = await start().catch((error) => {
    signal?.throwIfAborted();
    if (!readLockFile(cluster.database)) throw error;
    return undefined;
  });
  if (!server) return undefined;
  await createDatabase(cluster, port);
  const url = urlOf(cluster, port);
  writeFileSync(join(place.home, 'port'), String(port));
  writeFileSync(join(place.home, 'connection-url'), `${url}\n`, { mode: 0o600 });
  writeFileSync(ownerFile(place), String(process.pid));
  log.info({ home: place.home }, 'embedded PostgreSQL started');
  const stop = supervise(server, start, log);
  const stopPreallocation = preallocateWal(url, cluster.database, log);
  return {
    url,
    stop: async () => {
      await stopPreallocation();
      await stop();
      rmSync(ownerFile(place), { force: true });
    },
  };
}

const ownerFile = ({ home }: Place) => join(home, 'owner');

type RunningServer =
  | { state: 'none' | 'starting' }
  | { state: 'stopping'; pid: number }
  | { state: 'running'; url: string };

/** The server on this data directory. */
async function findRunning(place: Place, cluster: Cluster): Promise<RunningServer> {
  const lock = readLockFile(cluster.database);
  if (!lock) return { state: 'none' };
  if (!isPostgres(lock.pid)) {
    // PostgreSQL would mistake the process that has this pid now for the server.
    rmSync(join(cluster.database, 'postmaster.pid'), { force: true });
    return { state: 'none' };
  }
  const owner = ownerFile(place);
  const pid = existsSync(owner) ? Number(readFileSync(owner, 'utf8')) : 0;
  if (pid === process.pid || !isAlive(pid)) return { state: 'stopping', pid: lock.pid };
  const url = urlOf(cluster, lock.port);
  return (await acceptsConnections(url)) ? { state: 'running', url } : { state: 'starting' };
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
  const deadline = performance.now() + startTimeoutMs;
  try {
    while (!(await acceptsConnections(urlOf(cluster, port, 'postgres')))) {
      signal?.throwIfAborted();
      if (ended) throw new Error(`The embedded PostgreSQL did not start: ${server.lastLogLines()}`);
      if (performance.now() > deadline)
        throw new Error('The embedded PostgreSQL started but accepts no connections.');
      await sleep(25);
    }
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}
