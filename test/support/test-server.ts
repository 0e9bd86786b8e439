import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { provideBinaries } from '../../src/store/embedded/binaries.ts';
import { adminUrlOf, type Cluster, provideCluster, urlOf } from '../../src/store/embedded/cluster.ts';
import { freePort } from '../../src/store/embedded/free-port.ts';
import { findPlace, type Place } from '../../src/store/embedded/place.ts';
import { readLockFile } from '../../src/store/embedded/processes.ts';
import { provideRoles } from '../../src/store/embedded/roles.ts';
import { type ServerProcess, spawnServer } from '../../src/store/embedded/server-process.ts';
import { withClient } from '../../src/store/pool.ts';
import { acceptsConnections } from './accepts-connections.ts';
import { copyCluster, makeSuperuser } from './cluster.ts';
import { until } from './until.ts';

/** A PostgreSQL server of one test, which is not restarted automatically. */
export interface TestServer {
  url: string;
  port: number;
  /** Rows of a query. */
  rows: (query: string) => Promise<Record<string, unknown>[]>;
  /** Kills it, as a power failure would. */
  kill: () => Promise<void>;
  /** Starts it again on the same port and files. */
  restart: () => Promise<void>;
  /** Stops it and removes its files. */
  stop: () => Promise<void>;
  /** Its files and programs. */
  place: Place;
  cluster: Cluster;
  bin: string;
}

/** Starts an empty server; its database is `receiver`. */
export async function startTestServer(settings: string[] = []): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-server-'));
  copyCluster(folder);
  const place = findPlace(folder);
  const bin = await provideBinaries(place.home);
  const cluster = await provideCluster(place, bin);
  const server = await startServer(place, cluster, bin, settings);
  await provideRoles(adminUrlOf(cluster, server.port, 'postgres'), cluster.password);
  await makeSuperuser(place.home, server.url);
  return server;
}

async function startServer(
  place: Place,
  cluster: Cluster,
  bin: string,
  settings: string[],
): Promise<TestServer> {
  const port = await freePort();
  let server: ServerProcess;
  const restart = async () => {
    server = spawnServer(place, bin, cluster.database, port, settings);
    let ended = false;
    void server.exited.then(() => {
      ended = true;
    });
    await until(async () => {
      if (ended) throw new Error(`The server did not start: ${server.reason()}`);
      return acceptsConnections(adminUrlOf(cluster, port, 'postgres'));
    });
  };
  await restart();
  const url = urlOf(cluster, port);
  return {
    url,
    port,
    rows: (query) => withClient(url, async (client) => (await client.query(query)).rows),
    kill: async () => {
      process.kill(readLockFile(cluster.database)!.pid, 'SIGKILL');
      await server.exited;
      // Its sessions end by themselves, and use the files until they do.
      await until(async () => !(await acceptsConnections(url)));
    },
    restart,
    stop: async () => {
      if (readLockFile(cluster.database)) await server.stop();
      await rm(place.home, { recursive: true, force: true });
    },
    place,
    cluster,
    bin,
  };
}
