import { accessSync, constants, mkdtempSync, statfsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../src/common/log.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/index.ts';
import { findPlace } from '../../src/store/embedded/place.ts';
import { withClient } from '../../src/store/pool.ts';
import { copyCluster, makeSuperuser, prepareCluster, prepareMigratedCluster } from './cluster.ts';
import { createTemplate } from './database.ts';
import { startPgBouncer } from './pgbouncer.ts';
import { findProgram, installMissingPrograms } from './programs.ts';

/** Of the databases of tests that run at the same time, and of the log. */
const neededBytes = 2 * 2 ** 30;

declare global {
  var stopTestDatabase: (() => Promise<void>) | undefined;
}

/**
 * Starts one PostgreSQL for the run, in which each test file creates its databases as copies of a template, and installs
 * programs that the tests run.
 */
export default async function setup(): Promise<void> {
  installMissingPrograms();
  process.env.TEST_REDIS_SERVER = findProgram('redis-server');
  const stopServer = process.env.TEST_POSTGRES_URL ? undefined : await startServer();
  const stopService = process.env.TEST_AS ? await createService(process.env.TEST_AS) : undefined;
  const dropTemplate = await createTemplate();
  globalThis.stopTestDatabase = async () => {
    await stopService?.();
    await (stopServer ?? dropTemplate)();
  };
}

/**
 * Creates the role of the receiver, see docs/database.md.
 *
 * @param as `service`, or `pooled`: through PgBouncer, too
 * @returns a function that stops the pooler
 */
async function createService(as: string): Promise<(() => Promise<void>) | undefined> {
  const server = process.env.TEST_POSTGRES_URL!;
  await withClient(server, (client) =>
    client.query(`
      create role receiver_service nologin;
      create role receiver_app login password 'secret' in role receiver_service`),
  );
  const url = Object.assign(new URL(server), { username: 'receiver_app', password: 'secret' }).href;
  const pooler = as === 'pooled' ? await startPgBouncer(url) : undefined;
  process.env.TEST_SERVICE_URL = pooler?.through(url) ?? url;
  return pooler?.stop;
}

async function startServer(): Promise<() => Promise<void>> {
  // Faster, but not crash-safe: tests of crashes start their own servers.
  const settings = ['fsync=off', 'full_page_writes=off', 'max_connections=300'];
  const newFolder = (name: string, within = tmpdir()) => mkdtempSync(join(within, `receiver-${name}-`));
  const [empty, migrated] = [newFolder('empty'), newFolder('migrated')];
  const folder = newFolder('test', inMemory() ?? tmpdir());
  await prepareCluster(empty);
  await prepareMigratedCluster(migrated);
  copyCluster(folder);
  const server = await startEmbeddedPostgres(folder, createLog('error'), settings);
  await makeSuperuser(findPlace(folder).home, server.url);
  process.env.TEST_POSTGRES_URL = server.url;
  return async () => {
    await server.stop();
    for (const each of [folder, migrated, empty]) await rm(each, { recursive: true, force: true });
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
