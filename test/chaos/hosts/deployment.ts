import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { provideBinaries } from '../../../src/store/embedded/binaries.ts';
import { adminUrlOf, provideCluster, urlOf } from '../../../src/store/embedded/cluster.ts';
import { findPlace } from '../../../src/store/embedded/place.ts';
import { readLockFile } from '../../../src/store/embedded/processes.ts';
import { provideRoles } from '../../../src/store/embedded/roles.ts';
import { type ServerProcess, spawnServer } from '../../../src/store/embedded/server-process.ts';
import { acceptsConnections } from '../../support/accepts-connections.ts';
import { spawnService, type TestProcess } from '../../support/process.ts';
import { startRedis } from '../../support/redis.ts';
import { until } from '../../support/until.ts';
import { type Backend, childrenOf, type Deployment } from '../deployment.ts';
import { createNetwork, type Host, type Network } from './network.ts';

/** PostgreSQL and Redis on one host, a receiver and a worker on each of two others. */
export interface HostsDeployment extends Pick<Deployment, 'urls' | 'rows' | 'logLines' | 'redis' | 'stop'> {
  network: Network;
  /** Kills the host's processes and makes it vanish without a last packet, as a power failure would. */
  crash: (host: Host) => Promise<void>;
  /** Starts a host again, with its processes. */
  boot: (host: Host) => Promise<void>;
}

const port = 8080;
const receivingHosts = ['first', 'second'] as const;

/** @throws Error where this process may not make network namespaces */
export async function startHosts(backend: Backend): Promise<HostsDeployment> {
  const network = createNetwork();
  const folders: string[] = [];
  const processes = new Map<string, TestProcess>();
  const ended: TestProcess[] = [];
  const removeAtExit = () => {
    network.remove();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once('exit', removeAtExit);

  const stores = { address: network.addressOf('stores'), on: network.on('stores') };
  const database = await provideDatabase(network);
  folders.push(database.folder);
  await database.start();
  const redis = backend === 'redis' ? await startRedis([], stores) : undefined;
  if (redis) folders.push(redis.folder);

  const startServices = async (host: Host) => {
    for (const role of ['receiver', 'worker']) {
      const name = `${role} ${host}`;
      const before = processes.get(name);
      if (before) ended.push(before);
      const env = {
        DATABASE_URL: database.url,
        ...(redis && { REDIS_URL: redis.url }),
        ROLE: role,
        HOST: '0.0.0.0',
        PORT: String(port),
      };
      processes.set(name, await spawnService(env, undefined, network.on(host)));
    }
  };
  for (const host of receivingHosts) await startServices(host);

  // After a fault the connections are broken; on a busy machine new ones take long.
  const timeouts = { connectionTimeoutMillis: 15_000, query_timeout: 15_000 };
  const pool = new pg.Pool({ connectionString: database.url, max: 2, ...timeouts });
  pool.on('error', () => {});
  const rows = (query: string) =>
    until(
      () =>
        pool.query(query).then(
          (result) => result.rows as Record<string, unknown>[],
          () => undefined,
        ),
      60_000,
    );
  const processesOf = (host: Host) =>
    receivingHosts.some((one) => one === host)
      ? ['receiver', 'worker'].map((role) => processes.get(`${role} ${host}`)!)
      : [];
  return {
    network,
    urls: receivingHosts.map((host) => `http://${network.addressOf(host)}:${port}`),
    redis,
    rows,
    logLines: () =>
      [...ended, ...processes.values()].flatMap((one) => one.output().split('\n').filter(Boolean)),
    crash: async (host) => {
      await network.unplug(host);
      await Promise.all(processesOf(host).map((service) => service.end('SIGKILL')));
      if (host === 'stores') {
        redis?.process.kill('SIGKILL');
        await database.kill();
      }
      network.crash(host);
    },
    boot: async (host) => {
      network.boot(host);
      if (host === 'stores') await Promise.all([database.start(), redis?.restart()]);
      else await startServices(host);
    },
    stop: async () => {
      await Promise.all([...processes.values()].map((service) => service.end('SIGTERM')));
      await pool.end();
      await redis?.stop();
      await database.stop();
      network.remove();
      process.off('exit', removeAtExit);
    },
  };
}

/** A database on the host of the stores. PostgreSQL changes to its own user only there: making it enter needs root. */
async function provideDatabase(network: Network) {
  const place = findPlace(mkdtempSync(join(tmpdir(), 'receiver-hosts-')));
  const { uid, gid } = place.user!;
  const binaries = await provideBinaries(place.home);
  const cluster = await provideCluster(place, binaries);
  appendFileSync(join(cluster.database, 'pg_hba.conf'), `host all all ${network.subnet} scram-sha-256\n`);
  const bin = join(place.home, 'entering');
  mkdirSync(bin);
  const enter = [...network.on('stores'), 'setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
  writeFileSync(join(bin, 'postgres'), `#!/bin/sh\nexec ${enter.join(' ')} '${binaries}/postgres' "$@"\n`, {
    mode: 0o755,
  });
  const at = (url: string) => Object.assign(new URL(url), { hostname: network.addressOf('stores') }).href;
  const administrator = at(adminUrlOf(cluster, 5432, 'postgres'));
  let server: ServerProcess;
  return {
    url: at(urlOf(cluster, 5432)),
    folder: place.home,
    start: async () => {
      const settings = ['listen_addresses=*', 'max_wal_size=96MB', 'min_wal_size=32MB'];
      server = spawnServer({ home: place.home, user: undefined }, bin, cluster.database, 5432, settings);
      await until(() => acceptsConnections(administrator));
      await provideRoles(administrator, cluster.password);
    },
    kill: async () => {
      const { pid } = readLockFile(cluster.database)!;
      for (const one of [pid, ...childrenOf(String(pid)).map(Number)]) process.kill(one, 'SIGKILL');
      await server.exited;
    },
    stop: async () => {
      await server.stop();
      await rm(place.home, { recursive: true, force: true });
    },
  };
}
