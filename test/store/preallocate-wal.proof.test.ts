import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../src/common/log.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/index.ts';
import { adminUrl } from '../../src/store/embedded/roles.ts';
import { withClient } from '../../src/store/pool.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'receiver-log-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const count = `select count(*)::int as files, count(*) filter (where name > pg_walfile_name(pg_current_wal_lsn()))::int as ahead
from pg_ls_waldir() where name ~ '^[0-9A-F]{24}$'`;

it.each([
  ['a new database', 4],
  ['a database with fewer', 6],
])('WAL files are preallocated up to min_wal_size: %s', async (_, wanted) => {
  const settings = [`min_wal_size=${wanted * 16}MB`, 'fsync=off'];
  const server = await startEmbeddedPostgres(folder, createLog('silent'), settings);
  try {
    await until(() =>
      withClient(adminUrl(folder, server.url), async (client) => {
        const { rows } = await client.query<{ files: number; ahead: number }>(count);
        const { files, ahead } = rows[0]!;
        return files >= wanted && ahead === files - 1;
      }),
    );
  } finally {
    await server.stop();
  }
});
