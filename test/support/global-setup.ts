import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../src/log.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/index.ts';
import { copyCluster, prepareCluster } from './cluster.ts';
import { createTemplate } from './database.ts';
import { findProgram, installMissingPrograms } from './programs.ts';

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
  const dropTemplate = await createTemplate();
  globalThis.stopTestDatabase = stopServer ?? dropTemplate;
}

async function startServer(): Promise<() => Promise<void>> {
  // Faster, but not crash-safe: tests of crashes start their own servers.
  const settings = ['fsync=off', 'full_page_writes=off', 'max_connections=300'];
  const [prepared, folder] = ['cluster', 'test'].map((name) =>
    mkdtempSync(join(tmpdir(), `receiver-${name}-`)),
  );
  await prepareCluster(prepared!);
  copyCluster(folder!);
  const server = await startEmbeddedPostgres(folder!, createLog('error'), settings);
  process.env.TEST_POSTGRES_URL = server.url;
  return async () => {
    await server.stop();
    for (const each of [folder!, prepared!]) await rm(each, { recursive: true, force: true });
  };
}
