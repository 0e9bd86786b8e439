import { execFileSync } from 'node:child_process';
import { readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createLog } from '../../src/common/log.ts';
import { prepareQueueTables } from '../../src/queue/postgres-backend.ts';
import { openDatabase } from '../../src/store/database.ts';
import { provideBinaries, provideCluster } from '../../src/store/embedded/cluster.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/index.ts';
import { findPlace } from '../../src/store/embedded/place.ts';
import { migrate } from '../../src/store/migrate.ts';

/** Makes the cluster that copyCluster() copies in all processes of this run. */
export async function prepareCluster(folder: string): Promise<void> {
  const place = findPlace(folder);
  await provideCluster(place, await provideBinaries(place.home));
  process.env.TEST_CLUSTER = place.home;
}

/** Makes the cluster that copyCluster() copies as `migrated`: an empty one whose database has the receiver's tables. */
export async function prepareMigratedCluster(folder: string): Promise<void> {
  copyCluster(folder);
  const server = await startEmbeddedPostgres(folder, createLog('error'), ['fsync=off']);
  const { db, close } = openDatabase(server.url, createLog('silent'), { connections: 2, name: 'test' });
  await migrate(db);
  await prepareQueueTables(server.url);
  await close();
  await server.stop();
  process.env.TEST_MIGRATED_CLUSTER = findPlace(folder).home;
}

/**
 * Puts a cluster into a new DATA_DIR, where initdb and a copy of the programs would take seconds.
 *
 * @param state `empty`: as it is before the receiver's first start
 */
export function copyCluster(folder: string, state: 'empty' | 'migrated' = 'empty'): void {
  const prepared = state === 'empty' ? process.env.TEST_CLUSTER : process.env.TEST_MIGRATED_CLUSTER;
  if (!prepared) return; // with TEST_POSTGRES_URL
  const { home } = findPlace(folder);
  for (const name of readdirSync(prepared)) {
    // Copies that had the same port would take it from each other while one of them is killed, and the same password lets in.
    if (name === 'connection-url') continue;
    const [from, to] = [join(prepared, name), join(home, name)];
    if (name.startsWith('postgresql-')) symlinkSync(from, to);
    else execFileSync('cp', ['-a', from, to]);
  }
}
