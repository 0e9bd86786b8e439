import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../log.ts';
import { provideBinaries } from './binaries.ts';
import { type Cluster, createDatabase, provideCluster, urlOf } from './cluster.ts';
import { previousOrFreePort } from './free-port.ts';
import { refuseMoved } from './moved.ts';
import { findPlace, type Place } from './place.ts';
import { preallocateWal } from './preallocate-wal.ts';
import {
  acceptsConnections,
  isAlive,
  isPostgres,
  readLockFile,
  type ServerProcess,
  spawnServer,
} from './server-process.ts';

const startTimeoutMs = 60_000;
const stopTimeoutMs = 5_000;
const restartAfterMs = 500;

/**
 * Connects to the PostgreSQL server on the data of DATA_DIR, and starts it unless it runs.
 *
 * The process that starts the server owns it: it restarts it after a crash, and stops it. Other processes, such as a
 * command, only use it. A server whose owner has ended is stopping: this waits for it, and ends it after a timeout.
 *
 * @param settings settings of PostgreSQL, `name=value`
 * @param signal aborts the start; the server has exited when this raises the signal's reason
 * @returns `stop`: stops the server if this process has started it
 * @throws NoEmbeddedPostgres where its binaries are not installed; OtherMajorVersion; Error where the database was moved, or
 *   with the server's last log lines
 */
export async function startEmbeddedPostgres(
  dataDir: string,
  log: Log,
  settings: readonly string[] = [],
  signal?: AbortSignal,
) {
  const place = findPlace(dataDir);
  refuseMoved(place.home);
  return startOn(place, log, settings, signal);
}

/**
 * Starts the server for `receiver move`: nobody else uses it, and other processes that connect cannot write.
 *
 * @throws Error where a process uses the database
 */
export async function startToMove(dataDir: string, log: Log) {
  const place = findPlace(dataDir);
  const server = await startOn(place, log, ['default_transaction_read_only=on']);
  if (server.isOwn) return { ...server, home: place.home };
  throw new Error('The service, or a command, uses the embedded database. Stop it first');
}

async function startOn(place: Place, log: Log, settings: readonly string[], signal?: AbortSignal) {
  const bin = await provideBinaries(place.home, log);
  const cluster = await provideCluster(place, bin, signal);
  const start = (port: number) =>
    untilReady(
      spawnServer(place, bin, cluster.database, port, settings),
      urlOf(cluster, port, 'postgres'),
      signal,
    );
  const began = performance.now();

  for (;;) {
    signal?.throwIfAborted();
    const elapsedMs = performance.now() - began;
    const server = findServer(cluster.database);
    if (!server) {
      const started = await startOwn(place.home, cluster, start, log, signal);
      if (started) return started;
    } else if (!hasOwner(place.home)) {
      if (elapsedMs > stopTimeoutMs) process.kill(server.pid, 'SIGINT');
    } else {
      const url = urlOf(cluster, server.port);
      if (await acceptsConnections(url)) return { url, isOwn: false, stop: async () => {} };
    }
    if (elapsedMs > startTimeoutMs) {
      throw new Error(`The PostgreSQL server on ${cluster.database} neither accepts connections nor stops.`);
    }
    await sleep(50);
  }
}

/** Starts a server that this process owns; undefined where another process was faster. */
async function startOwn(
  home: string,
  cluster: Cluster,
  startOn: (port: number) => Promise<ServerProcess>,
  log: Log,
  signal?: AbortSignal,
) {
  const port = await previousOrFreePort(join(home, 'port'));
  const start = () => startOn(port);
  const server = await start().catch((error) => {
    signal?.throwIfAborted();
    if (!readLockFile(cluster.database)) throw error;
    return undefined;
  });
  if (!server) return undefined;
  await createDatabase(cluster, port);
  const url = urlOf(cluster, port);
  writeFileSync(join(home, 'port'), String(port));
  writeFileSync(join(home, 'connection-url'), `${url}\n`, { mode: 0o600 });
  writeFileSync(ownerFile(home), String(process.pid));
  log.info({ home }, 'embedded PostgreSQL started');
  const stop = supervise(server, start, log);
  const stopPreallocation = preallocateWal(url, cluster.database, log);
  return {
    url,
    isOwn: true,
    stop: async () => {
      await stopPreallocation();
      await stop();
      rmSync(ownerFile(home), { force: true });
    },
  };
}

const ownerFile = (home: string) => join(home, 'owner');

/** Whether the process that started the server is alive; this one would know of its server. */
function hasOwner(home: string): boolean {
  const file = ownerFile(home);
  const pid = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
  return pid !== process.pid && isAlive(pid);
}

/** The server that runs on a data directory. */
function findServer(database: string) {
  const server = readLockFile(database);
  if (!server || isPostgres(server.pid)) return server;
  // PostgreSQL would mistake the process that has this pid now for the server.
  rmSync(join(database, 'postmaster.pid'), { force: true });
  return undefined;
}

async function untilReady(server: ServerProcess, url: string, signal?: AbortSignal): Promise<ServerProcess> {
  let ended = false;
  void server.exited.then(() => {
    ended = true;
  });
  const deadline = performance.now() + startTimeoutMs;
  try {
    while (!(await acceptsConnections(url))) {
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

/**
 * Restarts a server whenever it ends.
 *
 * @returns a function that stops it for good
 */
function supervise(first: ServerProcess, start: () => Promise<ServerProcess>, log: Log): () => Promise<void> {
  let server = first;
  let isStopping = false;
  const done = (async () => {
    while (!isStopping) {
      await server.exited;
      if (isStopping) return;
      log.error('embedded PostgreSQL ended; restarting it');
      await sleep(restartAfterMs);
      if (isStopping) return;
      server = await start().catch((error) => {
        log.error({ err: error }, 'embedded PostgreSQL could not be restarted');
        return server;
      });
    }
    await server.stop();
  })();
  return async () => {
    isStopping = true;
    await server.stop();
    await done;
  };
}
