import { execFileSync } from 'node:child_process';
import { readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { provideCluster } from '../../src/embedded/cluster.ts';
import { findPlace } from '../../src/embedded/place.ts';

/** Makes the cluster that copyCluster() copies in all processes of this run. */
export async function prepareCluster(folder: string): Promise<void> {
  const { home } = await provideCluster(findPlace(folder));
  process.env.TEST_CLUSTER = home;
}

/** Puts a cluster into a new DATA_DIR, where initdb and a copy of the programs would take seconds. */
export function copyCluster(folder: string): void {
  const prepared = process.env.TEST_CLUSTER;
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
