import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { replaceFile } from '../../common/durable-files.ts';
import type { Log } from '../../common/log.ts';
import { readTrusted } from '../../common/trusted-files.ts';
import { withoutClearPassword } from '../client.ts';
import { copyNameFile } from './backup.ts';
import { provideBinaries, removeDrafts } from './binaries.ts';
import { adminUrlOf, provideCluster, resetAdministrator, urlOf } from './cluster.ts';
import { previousOrFreePort } from './free-port.ts';
import { type Lock, takeLock } from './lock.ts';
import { refuseMoved } from './moved.ts';
import { findPlace, type Place } from './place.ts';
import { preallocateWal } from './preallocate-wal.ts';
import { endFormerServer, findServer, isAlive } from './processes.ts';
import { provideRoles } from './roles.ts';
import { immediately, type ServerProcess, spawnServer, tryConnection } from './server-process.ts';
import { becomesStuck, isRecovering, supervise } from './supervise.ts';

const startTimeoutMs = 60_000;
const stopTimeoutMs = 5_000;
const fastStopTimeoutMs = 15_000;
const wrongPassword = '28P01';

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
  throw new Error('The receiver, or a command, uses the embedded database. Stop it first');
}

async function startOn(place: Place, log: Log, settings: readonly string[], signal?: AbortSignal) {
  const { home } = place;
  const database = join(home, 'database');
  const began = performance.now();

  for (;;) {
    signal?.throwIfAborted();
    const elapsedMs = performance.now() - began;
    const taken = await takeLock(place);
    const lock = typeof taken === 'object' ? taken : undefined;
    let pid: number | undefined;
    try {
      pid = findServer(place, lock);
      if (lock && !pid) return await startOwn(place, lock, settings, log, signal);
    } catch (error) {
      await lock?.release();
      throw error;
    }
    await lock?.release();
    const url = readUrl(home);
    if (pid && !hasOwner(home)) {
      if (elapsedMs > stopTimeoutMs) process.kill(pid, elapsedMs > fastStopTimeoutMs ? 'SIGQUIT' : 'SIGINT');
    } else if (url && !(await tryConnection(url))) return { url, isOwn: false, stop: async () => {} };
    if (taken === 'elsewhere' && elapsedMs > stopTimeoutMs) {
      throw new Error(`Another container uses ${home}. Stop it first`);
    }
    if (elapsedMs > startTimeoutMs) {
      throw new Error(`The PostgreSQL server on ${database} neither accepts connections nor stops.`);
    }
    // Random, so that one of two processes that take the lock at once is faster the next time.
    await sleep(50 + Math.random() * 50);
  }
}

/** Starts a server that this process owns, with the folder's lock, which is released after its exit. */
async function startOwn(
  place: Place,
  lock: Lock,
  settings: readonly string[],
  log: Log,
  signal?: AbortSignal,
) {
  const { home } = place;
  removeDrafts(place);
  const bin = await provideBinaries(home, log);
  const cluster = await provideCluster(place, bin, lock, signal);
  replaceFile(ownerFile(home), String(process.pid));
  const port = await previousOrFreePort(portFile(home));
  const start = async () => {
    await endFormerServer(cluster.database);
    const copy = readTrusted(copyNameFile(home));
    const all = copy ? [...settings, `receiver.copy=${copy}`] : settings;
    const server = spawnServer(place, bin, cluster.database, port, all, lock.fd);
    return untilReady(server, cluster.database, adminUrlOf(cluster, port, 'postgres'), log, signal);
  };
  const server = await start().catch(async (error) => {
    if (error.code !== wrongPassword) throw error;
    await resetAdministrator(place, bin, cluster, lock);
    log.warn({ home }, 'the administrator of the embedded PostgreSQL has a new password');
    return start();
  });
  try {
    await provideRoles(adminUrlOf(cluster, port, 'postgres'), cluster.password);
    const url = urlOf(cluster, port);
    replaceFile(portFile(home), String(port));
    replaceFile(urlFile(home), `${url}\n`);
    log.info({ home }, 'embedded PostgreSQL started');
    const stop = supervise(server, start, cluster.database, log);
    const stopPreallocation = preallocateWal(adminUrlOf(cluster, port, 'receiver'), cluster.database, log);
    return {
      url,
      isOwn: true,
      stop: async () => {
        await stopPreallocation();
        await stop();
        rmSync(ownerFile(home), { force: true });
        await lock.release();
      },
    };
  } catch (error) {
    await server.stop(log);
    throw error;
  }
}

const ownerFile = (home: string) => join(home, 'owner');
const portFile = (home: string) => join(home, 'port');
const urlFile = (home: string) => join(home, 'connection-url');

/** Whether the process that started the server is alive; this one would know of its server. */
function hasOwner(home: string): boolean {
  const pid = Number(readTrusted(ownerFile(home)) ?? 0);
  return pid !== process.pid && isAlive(pid);
}

/** The address that the owner of a server wrote; undefined where there was none yet. */
function readUrl(home: string): string | undefined {
  const url = readTrusted(urlFile(home))?.trim();
  return url ? withoutClearPassword(url) : undefined;
}

/** Resolves once a server accepts connections, however long its recovery takes. A start that fails ends it. */
async function untilReady(
  server: ServerProcess,
  database: string,
  url: string,
  log: Log,
  signal?: AbortSignal,
): Promise<ServerProcess> {
  let [ended, stuck] = [false, false];
  void server.exited.then(() => {
    ended = true;
  });
  const watching = new AbortController();
  void becomesStuck(server.pid, database, watching.signal).then((isStuck) => {
    stuck = isStuck;
  });
  let deadline = performance.now() + startTimeoutMs;
  try {
    for (;;) {
      const error = await tryConnection(url);
      if (!error) return server;
      signal?.throwIfAborted();
      if (ended) throw new Error(`The embedded PostgreSQL did not start: ${server.reason()}`);
      if (error.code === wrongPassword) throw error;
      if (stuck) throw new Error(`The embedded PostgreSQL could not recover: ${server.reason()}`);
      if (performance.now() > deadline) {
        if (!isRecovering(server.pid))
          throw new Error('The embedded PostgreSQL started but accepts no connections.', { cause: error });
        log.warn('embedded PostgreSQL is still recovering');
        deadline = performance.now() + startTimeoutMs;
      }
      await sleep(25);
    }
  } catch (error) {
    await server.stop(log, stuck ? immediately : undefined);
    throw error;
  } finally {
    watching.abort();
  }
}
