import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../src/common/log.ts';
import { openDatabase } from '../src/store/database.ts';
import { startEmbeddedPostgres } from '../src/store/embedded/index.ts';
import { migrate } from '../src/store/migrate.ts';
import { changedRecords } from './changed-records.ts';

const file = join(import.meta.dirname, '../src/client/changes/changed-records.ts');
const home = mkdtempSync(join(tmpdir(), 'receiver-docs-'));
const server = await startEmbeddedPostgres(home, createLog('error'), ['fsync=off']);
const { db, close } = openDatabase(server.url, createLog('silent'), { connections: 2, name: 'docs' });
try {
  await migrate(db);
  writeFileSync(file, await changedRecords(db));
  execFileSync('npx', ['biome', 'format', '--write', file]);
} finally {
  await close();
  await server.stop();
  rmSync(home, { recursive: true, force: true });
}
