import type pg from 'pg';
import { createLog } from '../../src/common/log.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/index.ts';
import { findPlace } from '../../src/store/embedded/place.ts';
import { withClient } from '../../src/store/pool.ts';
import { makeSuperuser } from '../../test/support/cluster.ts';
import { parentOf } from '../process/usage.ts';

export interface BenchPostgres {
  /** The server's main process. */
  pid: number;
  version: string;
  /** A new, empty database; an existing one of this name is dropped. */
  freshDatabase: (name?: string) => Promise<string>;
  stop: () => Promise<void>;
}

/**
 * The embedded PostgreSQL with the receiver's settings: every commit reaches the disk.
 *
 * @param settings further ones, `name=value`
 */
export async function startPostgres(
  dataDir: string,
  settings: readonly string[] = [],
): Promise<BenchPostgres> {
  const server = await startEmbeddedPostgres(dataDir, createLog('warn'), settings);
  await makeSuperuser(findPlace(dataDir).home, server.url); // it creates databases
  const info = await withClient(server.url, async (client) => {
    const { rows } = await client.query(`
      select pg_backend_pid() pid, current_setting('server_version') version,
             current_setting('fsync') fsync, current_setting('synchronous_commit') commit`);
    const { pid, ...settings } = rows[0] as { pid: number; version: string; fsync: string; commit: string };
    return { ...settings, pid: parentOf(pid) }; // while the session's process exists
  });
  const made = new Set<string>();
  const drop = (name: string) =>
    withClient(server.url, async (client) => {
      await client.query(`drop database if exists ${name} with (force)`);
    });
  return {
    pid: info.pid,
    version: `${info.version} (fsync ${info.fsync}, synchronous_commit ${info.commit})`,
    freshDatabase: async (name = 'bench') => {
      await drop(name);
      made.add(name);
      await withClient(server.url, async (client) => {
        await client.query(`create database ${name}`);
        await client.query('checkpoint');
      });
      const url = new URL(server.url);
      url.pathname = `/${name}`;
      return url.href;
    },
    stop: async () => {
      for (const name of made) await drop(name);
      await server.stop();
    },
  };
}

/** The first value of the first row. */
export function scalar(url: string, query: string): Promise<number> {
  return withClient(url, async (client: pg.Client) => {
    const { rows } = await client.query<[number | string]>({ text: query, rowMode: 'array' });
    return Number(rows[0]?.[0]);
  });
}
