import { execFileSync } from 'node:child_process';
import { readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { provideBinaries } from '../../src/store/embedded/binaries.ts';
import { provideCluster } from '../../src/store/embedded/cluster.ts';
import { findPlace } from '../../src/store/embedded/place.ts';
import { adminUrl } from '../../src/store/embedded/roles.ts';
import { withClient } from '../../src/store/pool.ts';

/** Makes the cluster that copyCluster() copies in all processes of this run. */
export async function prepareCluster(folder: string): Promise<void> {
  const place = findPlace(folder);
  await provideCluster(place, await provideBinaries(place.home));
  process.env.TEST_CLUSTER = place.home;
}

/** Puts an empty cluster into a new DATA_DIR, where initdb and a copy of the programs would take seconds. */
export function copyCluster(folder: string): void {
  const prepared = process.env.TEST_CLUSTER;
  if (!prepared) return; // with TEST_POSTGRES_URL
  const { home } = findPlace(folder);
  for (const name of readdirSync(prepared)) {
    const [from, to] = [join(prepared, name), join(home, name)];
    if (name.startsWith('postgresql-')) symlinkSync(from, to);
    else execFileSync('cp', ['-a', from, to]);
  }
}

/**
 * Makes the role `receiver` of a running server a superuser, for tests that create roles, or damage the server.
 *
 * @param home its folder
 */
export async function makeSuperuser(home: string, url: string): Promise<void> {
  await withClient(adminUrl(home, url), (client) => client.query('alter role receiver superuser'));
}
