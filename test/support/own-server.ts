import { mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../src/common/log.ts';
import { openDatabase } from '../../src/store/database.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/index.ts';
import { pageBytes } from '../../src/store/embedded/page-checksum.ts';
import { findPlace } from '../../src/store/embedded/place.ts';
import { copyCluster, makeSuperuser } from './cluster.ts';

export type OwnServer = Awaited<ReturnType<typeof startOwnServer>>;

/** A server of this test alone, with the receiver's tables and checksums: its files may be damaged, and settings are its own. */
export async function startOwnServer(settings: readonly string[] = []) {
  const folder = mkdtempSync(join(tmpdir(), 'receiver-own-'));
  copyCluster(folder, 'migrated');
  const log = createLog('error');
  const start = async () => {
    const started = await startEmbeddedPostgres(folder, log, settings);
    await makeSuperuser(findPlace(folder).home, started.url); // which each start takes back
    const options = { connections: 5, name: 'test' };
    return { ...started, database: openDatabase(started.url, createLog('silent'), options) };
  };
  let server = await start();
  const { url } = server;

  const rows = async (query: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
    (await server.database.pool.query(query, values)).rows;

  return {
    url,
    rows,
    get database() {
      return server.database;
    },
    /**
     * Overwrites a page of a table or an index while the server is down, as a bad disk would.
     *
     * @returns a function that restores the page, as from a replica
     */
    damage: async (relation: string, block: number): Promise<() => Promise<void>> => {
      await rows('checkpoint');
      const [row] = await rows('select pg_relation_filepath($1::regclass) as path', [relation]);
      const page = Buffer.alloc(pageBytes);
      const write = async (content: Buffer) => {
        await server.database.close();
        await server.stop();
        const file = await open(join(findPlace(folder).home, 'database', row!.path as string), 'r+');
        await file.read(page, 0, pageBytes, block * pageBytes);
        const before = Buffer.from(page);
        await file.write(content, 0, pageBytes, block * pageBytes);
        await file.close();
        server = await start();
        return before;
      };
      const intact = await write(Buffer.alloc(pageBytes, 'x'));
      return async () => {
        await write(intact);
      };
    },
    stop: async (): Promise<void> => {
      await server.database.close();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
