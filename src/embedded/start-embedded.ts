import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Log } from '../common/log.ts';
import { replaceFile } from '../common/secrets.ts';
import { type Cluster, provideCluster, urlOf } from './cluster.ts';
import { findPlace } from './place.ts';
import { findBindError, findServer, freePort, spawnServer, tryConnection } from './server-process.ts';

const startTimeoutMs = 60_000;
const cannotConnectNow = '57P03';

interface EmbeddedServer {
  url: string;
  /** Started by this process, which alone stops it. */
  isOwn: boolean;
  stop: () => Promise<void>;
}

/**
 * The server on the data of DATA_DIR, started unless it runs. It ends with the process that has started it, however that ends;
 * where it ends by itself, that process ends with an error.
 */
export async function startEmbeddedPostgres(dataDir: string, log: Log): Promise<EmbeddedServer> {
  const cluster = await provideCluster(findPlace(dataDir));
  for (const deadline = performance.now() + startTimeoutMs; ; await sleep(50)) {
    const running = findServer(cluster.database);
    const url = running?.port && urlOf(cluster, running.port);
    if (url && !(await tryConnection(url))) return { url, isOwn: false, stop: async () => {} };
    const own = running ? undefined : await startOwn(cluster, log);
    if (own) return own;
    if (performance.now() > deadline) {
      throw new Error(`The PostgreSQL server on ${cluster.database} neither accepts connections nor stops`);
    }
  }
}

/** @returns undefined where another process was faster, or a former server has not quite ended */
async function startOwn(cluster: Cluster, log: Log) {
  const urlFile = join(cluster.home, 'connection-url');
  // The port of the last start if it is free, so that saved connections stay valid.
  const last = await readFile(urlFile, 'utf8').catch(() => '');
  const lastPort = Number(URL.canParse(last) && new URL(last).port);
  const port = lastPort >= 1024 && !(await findBindError(lastPort)) ? lastPort : await freePort();
  const url = urlOf(cluster, port);
  const server = spawnServer(cluster, port);
  try {
    // However long its recovery takes.
    for (let error = await tryConnection(url); error; error = await tryConnection(url)) {
      const reason = server.reason();
      if (/already exists|still in use/.test(reason)) return undefined;
      if (reason) throw new Error(`The embedded PostgreSQL did not start: ${reason}`);
      if (error instanceof pg.DatabaseError && error.code !== cannotConnectNow) throw error;
      await sleep(25);
    }
    replaceFile(urlFile, `${url}\n`);
  } catch (error) {
    await server.stop();
    throw error;
  }
  log.info({ home: cluster.home }, 'embedded PostgreSQL started');
  void server.exited.then(() => {
    const reason = server.reason();
    if (reason) throw new Error(`The embedded PostgreSQL has ended: ${reason}`);
  });
  return { url, isOwn: true, stop: server.stop };
}
