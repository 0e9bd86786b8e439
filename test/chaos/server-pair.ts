import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type Cluster, provideCluster, urlOf } from '../../src/embedded/cluster.ts';
import { findPlace } from '../../src/embedded/place.ts';
import { findServer, freePort, spawnServer, tryConnection } from '../../src/embedded/server-process.ts';
import { copyCluster } from '../support/cluster.ts';
import { signalAll } from '../support/process.ts';
import { queryOnce } from '../support/query-once.ts';
import { until } from '../support/until.ts';
import { startTcpProxy } from './tcp-proxy.ts';

type Member = Awaited<ReturnType<typeof startMember>>;

/** A primary with a synchronous standby, and one address that leads to the primary. */
export async function startServerPair() {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-pair-'));
  copyCluster(folder);
  const cluster = await provideCluster(findPlace(folder));
  appendFileSync(join(cluster.database, 'pg_hba.conf'), 'host replication all 127.0.0.1/32 scram-sha-256\n');
  let primary = await startMember(cluster);
  let standby = await addStandby(primary);
  const link = await startTcpProxy(primary.port);
  const members = [primary, standby];

  return {
    url: urlOf(cluster, link.port),
    standbyUrl: () => standby.url,
    rows: (query: string) => queryOnce(primary.url, query),
    /** Kills the primary with all its sessions, and lets the address lead to the standby. @returns ms */
    failOver: async (): Promise<number> => {
      const begun = performance.now();
      signalAll(findServer(primary.cluster.database)!.pid, 'SIGKILL');
      link.cut();
      await queryOnce(standby.url, 'select pg_promote()');
      link.leadTo(standby.port);
      await link.restore();
      primary = standby;
      return Math.round(performance.now() - begun);
    },
    /** From now on commits do not wait for the standby, which gets none of them. */
    detachStandby: async () => {
      const set = (url: string, setting: string) =>
        queryOnce(url, `alter system set ${setting} = ''`).then(() =>
          queryOnce(url, 'select pg_reload_conf()'),
        );
      await set(primary.url, 'synchronous_standby_names');
      await set(standby.url, 'primary_conninfo');
      await until(
        async () => (await queryOnce(standby.url, 'select from pg_stat_wal_receiver')).length === 0,
      );
    },
    addStandby: async () => {
      standby = await addStandby(primary);
      members.push(standby);
    },
    stop: async () => {
      await link.stop();
      for (const member of members.reverse()) await member.stop();
      await rm(folder, { recursive: true, force: true });
      await rm(cluster.home, { recursive: true, force: true });
    },
  };
}

async function startMember(cluster: Cluster) {
  const port = await freePort();
  const url = urlOf(cluster, port);
  const server = spawnServer(cluster, port, ['wal_keep_size=512MB', 'wal_receiver_status_interval=1']);
  await until(async () => server.reason() || !(await tryConnection(url)));
  if (server.reason()) throw new Error(server.reason());
  return { cluster, port, url, stop: server.stop };
}

/** Copies a server while it runs. Once it follows, no commit returns before it has it. */
async function addStandby(primary: Member): Promise<Member> {
  const { cluster, port, url } = primary;
  const home = mkdtempSync(join(cluster.home, 'standby-'));
  const database = join(home, 'database');
  const client = new pg.Client(url);
  await client.connect();
  await client.query(`select pg_backup_start('standby', true)`);
  // Files may vanish meanwhile.
  execFileSync('sh', ['-c', 'cp -a "$0" "$1" 2>/dev/null || true', cluster.database, database]);
  const { rows } = await client.query('select labelfile from pg_backup_stop(false)');
  const wal = join(database, 'pg_wal');
  for (const name of readdirSync(wal)) rmSync(join(wal, name), { recursive: true });
  mkdirSync(join(wal, 'archive_status'));
  rmSync(join(database, 'postmaster.pid'));
  writeFileSync(join(database, 'backup_label'), rows[0].labelfile);
  writeFileSync(join(database, 'standby.signal'), '');
  const conninfo = `host=127.0.0.1 port=${port} user=receiver password=${cluster.password}`;
  writeFileSync(join(database, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`);
  if (cluster.user) execFileSync('chown', ['-R', `${cluster.user.uid}:${cluster.user.gid}`, home]);
  const standby = await startMember({ ...cluster, home, database });
  const streams = `select from pg_stat_replication where state = 'streaming'`;
  await until(async () => (await client.query(streams)).rowCount);
  await client.query(`alter system set synchronous_standby_names = '*'`);
  await client.query('select pg_reload_conf()');
  await client.end();
  return standby;
}
