import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { provideCluster, urlOf } from '../../src/embedded/cluster.ts';
import { findPlace } from '../../src/embedded/place.ts';
import {
  findServer,
  freePort,
  type ServerProcess,
  spawnServer,
  tryConnection,
} from '../../src/embedded/server-process.ts';
import { copyCluster } from './cluster.ts';
import { queryOnce } from './query-once.ts';
import { until } from './until.ts';

export type TestServer = Awaited<ReturnType<typeof startTestServer>>;

/** Starts a server of one test; its database is `receiver`. */
export async function startTestServer(
  settings: readonly string[] = [],
  folder = mkdtempSync(join(tmpdir(), 'receiver-server-')),
) {
  copyCluster(folder);
  const cluster = await provideCluster(findPlace(folder));
  const port = await freePort();
  const url = urlOf(cluster, port);
  let server: ServerProcess;
  const restart = async () => {
    for (;;) {
      server = spawnServer(cluster, port, settings);
      await until(async () => server.reason() || !(await tryConnection(url)));
      const reason = server.reason();
      if (!reason) return;
      // Sessions of a killed server use the files until they end.
      if (!reason.includes('still in use')) throw new Error(`The server did not start: ${reason}`);
      await pause(50);
    }
  };
  await restart();
  return {
    url,
    port,
    /** The process id; undefined while it does not run. */
    pid: () => findServer(cluster.database)?.pid,
    rows: (query: string): Promise<Record<string, unknown>[]> => queryOnce(url, query),
    exited: () => server.exited,
    restart,
    stop: async (): Promise<void> => {
      await server.stop();
      await rm(cluster.home, { recursive: true, force: true });
    },
  };
}
