import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../src/common/log.ts';
import { openDatabase } from '../../src/store/database.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/index.ts';
import { findPlace } from '../../src/store/embedded/place.ts';
import { copyCluster, makeSuperuser } from './cluster.ts';

export type OwnServer = Awaited<ReturnType<typeof startOwnServer>>;

/** A server of this test alone, with the receiver's tables and settings of its own. */
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
  const server = await start();
  const { url } = server;

  const rows = async (query: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
    (await server.database.pool.query(query, values)).rows;

  return {
    url,
    rows,
    get database() {
      return server.database;
    },
    stop: async (): Promise<void> => {
      await server.database.close();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
