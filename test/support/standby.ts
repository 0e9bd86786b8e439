import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { chown, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
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

export interface Standby extends TestServer {
  /** Makes it a primary; resolves once it accepts writes. */
  promote: () => Promise<void>;
}

/** Starts an empty server for standbys; its database is `receiver`. */
export async function startPrimary(settings: string[] = []): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-primary-'));
  copyCluster(folder);
  const place = findPlace(folder);
  const bin = await provideBinaries(place.home);
  const cluster = await provideCluster(place, bin);
  const primary = await startServer(place, cluster, bin, settings);
  await provideRoles(adminUrlOf(cluster, primary.port, 'postgres'), cluster.password);
  await makeSuperuser(place.home, primary.url);
  return primary;
}

/**
 * Copies a running server and starts the copy as its standby, asynchronous until `setSynchronous` is called.
 */
export async function startStandby(primary: TestServer, settings: string[] = []): Promise<Standby> {
  const { cluster, bin, port } = primary;
  const place = findPlace(mkdtempSync(join(tmpdir(), 'receiver-standby-')));
  const copy = { ...cluster, database: join(place.home, 'database') };
  await withClient(primary.url, async (client) => {
    await client.query(`select pg_backup_start('standby', true)`);
    // Files may disappear during the copy: the standby learns of it from the WAL.
    await promisify(execFile)('cp', ['-a', cluster.database, copy.database], {
      env: { ...process.env, LC_ALL: 'C' },
    }).catch((error: { stderr: string }) => {
      const lines = error.stderr.trim().split('\n');
      if (!lines.every((line) => line.endsWith('No such file or directory'))) throw error;
    });
    const { rows } = await client.query('select labelfile from pg_backup_stop(wait_for_archive => false)');
    const marks = { backup_label: rows[0].labelfile as string, 'standby.signal': '' };
    for (const [name, text] of Object.entries(marks)) {
      const file = join(copy.database, name);
      await writeFile(file, text);
      if (place.user) await chown(file, place.user.uid, place.user.gid);
    }
  });
  await rm(join(copy.database, 'postmaster.pid'), { force: true });
  const source = `host=127.0.0.1 port=${port} user=receiver password=${cluster.password} application_name=standby`;
  const standby = await startServer(place, copy, bin, [`primary_conninfo=${source}`, ...settings]);
  return {
    ...standby,
    promote: async () => {
      const [row] = await standby.rows('select pg_promote(true, 30) as promoted');
      if (!row!.promoted) throw new Error('The standby was not promoted.');
    },
  };
}

/** Makes each commit of a primary wait until its standby has it on disk, or not. */
export async function setSynchronous(primary: TestServer, synchronous: boolean): Promise<void> {
  await primary.rows(`alter system set synchronous_standby_names = '${synchronous ? 'standby' : ''}'`);
  await primary.rows('select pg_reload_conf()');
  const wanted = synchronous ? 'sync' : 'async';
  await until(async () => {
    const rows = await primary.rows(`select sync_state from pg_stat_replication where state = 'streaming'`);
    return rows[0]?.sync_state === wanted;
  });
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
