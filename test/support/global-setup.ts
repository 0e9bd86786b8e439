import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../src/log.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/index.ts';
import { findRedisServer } from './redis-binary.ts';

declare global {
  var stopTestDatabase: (() => Promise<void>) | undefined;
}

/** One PostgreSQL for the whole run, in which each test file makes its own database; and a Redis program. */
export default async function setup(): Promise<void> {
  process.env.TEST_REDIS_SERVER ??= findRedisServer();
  if (process.env.TEST_POSTGRES_URL) return;
  // Tests that crash the database's machine have servers of their own; this one may be quick.
  const settings = ['fsync=off', 'full_page_writes=off', 'max_connections=300'];
  const folder = mkdtempSync(join(tmpdir(), 'receiver-test-'));
  const server = await startEmbeddedPostgres(folder, createLog('error'), settings);
  process.env.TEST_POSTGRES_URL = server.url;
  globalThis.stopTestDatabase = async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
}
