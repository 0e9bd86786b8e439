import { accessSync, constants, mkdtempSync, statfsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareCluster } from './cluster.ts';
import { findProgram, installMissing } from './programs.ts';
import { queryOnce } from './query-once.ts';
import { createReceiverDatabase } from './receiver-database.ts';
import { startTestServer } from './test-server.ts';

/** Of the databases of tests that run at the same time, and of the log. */
const neededBytes = 2 * 2 ** 30;

declare global {
  var stopTestDatabase: (() => Promise<void>) | undefined;
}

/** Starts one PostgreSQL, in which each test file creates its databases, and installs programs that tests run. */
export default async function setup(): Promise<void> {
  installMissing([
    'redis-server',
    'chromium',
    ...(process.env.DRILL_MINUTES ? (['pgbouncer'] as const) : []),
  ]);
  process.env.TEST_REDIS_SERVER = findProgram('redis-server');
  const stopServer = process.env.TEST_POSTGRES_URL ? undefined : await startServer();
  const template = await createReceiverDatabase();
  await template.pool.end();
  process.env.TEST_TEMPLATE = new URL(template.url).pathname.slice(1);
  globalThis.stopTestDatabase = async () => {
    await queryOnce(process.env.TEST_POSTGRES_URL!, `drop database ${process.env.TEST_TEMPLATE}`);
    await stopServer?.();
  };
}

async function startServer(): Promise<() => Promise<void>> {
  // Faster, but not crash-safe: tests of crashes start their own servers.
  const settings = ['fsync=off', 'full_page_writes=off', 'max_connections=300'];
  const newFolder = (name: string, within = tmpdir()) => mkdtempSync(join(within, `receiver-${name}-`));
  const empty = newFolder('empty');
  const folder = newFolder('test', inMemory() ?? tmpdir());
  await prepareCluster(empty);
  const server = await startTestServer(settings, folder);
  process.env.TEST_POSTGRES_URL = server.url;
  return async () => {
    await server.stop();
    await rm(empty, { recursive: true, force: true });
  };
}

/** A folder whose files are in memory, where there is enough of it: the tests take a sixth less time. */
function inMemory(): string | undefined {
  const folder = '/dev/shm';
  try {
    accessSync(folder, constants.W_OK);
    const { bavail, bsize } = statfsSync(folder);
    return Math.min(bavail * bsize, freemem()) > neededBytes ? folder : undefined;
  } catch {
    return undefined;
  }
}
