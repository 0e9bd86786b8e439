import { copyFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import { applyReportTimezone } from '../../src/reporting/timezone.ts';
import { migrate } from '../../src/store/migrate.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { post, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createEmptyDatabase();
});
afterAll(() => database.close());

it('processes that migrate at once run each migration once', async () => {
  const results = await Promise.all(Array.from({ length: 4 }, () => migrate(database.db)));
  const names = results.flat();
  expect(names.length).toBeGreaterThan(0);
  expect(new Set(names).size).toBe(names.length);
  expect(await migrate(database.db)).toEqual([]);
});

it('a migration that fails changes nothing and is named; those before it are done', async () => {
  const other = await createEmptyDatabase();
  try {
    await other.pool.query('create table receipts (nothing int)');
    await expect(migrate(other.db)).rejects.toThrow(/0002_families/);
    expect(await other.rows('select name from kysely_migration')).toEqual([{ name: '0001_deliveries' }]);
    expect(await other.rows(`select from pg_tables where tablename = 'consent_forms'`)).toEqual([]);
    await other.pool.query('drop table receipts');
    expect(await migrate(other.db)).toContain('0002_families');
  } finally {
    await other.close();
  }
});

/** The migrations that there are, and some more, for as long as something runs. */
async function withMigrations(more: Record<string, string>, run: (folder: string) => Promise<void>) {
  const folder = await mkdtemp(join(tmpdir(), 'migrations-'));
  const own = join(import.meta.dirname, '../../db/migrations');
  try {
    for (const file of await readdir(own)) await copyFile(join(own, file), join(folder, file));
    for (const [name, text] of Object.entries(more)) await writeFile(join(folder, `${name}.sql`), text);
    await run(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Callbacks that are sent, one after the other, while something waits for a reader: their statuses. */
async function whileAReaderIsOpen(
  other: TestDatabase,
  change: (log: { warn: (fields: object, message: string) => void }) => Promise<unknown>,
) {
  const service = await startTestService({ databaseUrl: other.url, role: 'receiver' });
  const said: { sessions: { pid: number }[] }[] = [];
  const reader: PoolClient = await other.pool.connect();
  const statuses = new Set<number>();
  let done = false;
  try {
    await reader.query('begin; select count(*) from deliveries');
    const changing = change({ warn: (fields) => void said.push(fields as never) }).finally(() => {
      done = true;
    });
    for (const end = Date.now() + 4_000; Date.now() < end; await pause(20)) {
      statuses.add((await post(`${service.url}${paths.receipt}`, receiptCallback())).status);
    }
    const waited = !done;
    const { rows } = await reader.query('select pg_backend_pid() as pid');
    await reader.query('commit');
    const result = await changing;
    return { statuses: [...statuses], waited, said, pid: rows[0].pid as number, result };
  } finally {
    reader.release(true);
    await service.stop();
  }
}

describe('callbacks are taken in', () => {
  let other: TestDatabase;
  beforeEach(async () => {
    other = await createDatabase();
  });
  afterEach(() => other.close());

  it('while a migration waits for a reader, which is named in the log', async () => {
    await withMigrations({ '9001_drop': 'drop index deliveries_times;' }, async (folder) => {
      const { statuses, waited, said, pid, result } = await whileAReaderIsOpen(other, (log) =>
        migrate(other.db, log as never, folder),
      );
      expect(statuses).toEqual([200]);
      expect(waited).toBe(true);
      expect(said[0]!.sessions).toMatchObject([{ pid, state: 'idle in transaction' }]);
      expect(result).toEqual(['9001_drop']);
      expect(await other.rows(`select to_regclass('deliveries_times') as there`)).toEqual([{ there: null }]);
    });
  });

  it('while a migration without a transaction waits for a reader', async () => {
    const text = `-- no transaction
-- The old one, if it is there; a comment between them.
drop index concurrently if exists deliveries_times;
drop index concurrently if exists deliveries_new;
create index concurrently deliveries_new on deliveries (event_time)
  where event <> 'a;b';
`;
    await withMigrations({ '9002_index': text }, async (folder) => {
      const { statuses, waited, result } = await whileAReaderIsOpen(other, (log) =>
        migrate(other.db, log as never, folder),
      );
      expect(statuses).toEqual([200]);
      expect(waited).toBe(true);
      expect(result).toEqual(['9002_index']);
      expect(
        await other.rows(`select indisvalid from pg_index where indexrelid = 'deliveries_new'::regclass`),
      ).toEqual([{ indisvalid: true }]);
      expect(await migrate(other.db, undefined, folder)).toEqual([]);
    });
  });

  it('while the indexes on days of another time zone wait for a reader', async () => {
    const { statuses, waited, result } = await whileAReaderIsOpen(other, (log) =>
      applyReportTimezone(other.db, 'UTC', log as never),
    );
    expect(statuses).toEqual([200]);
    expect(waited).toBe(true);
    expect(result).toBe(true);
    expect(await other.rows('select * from stale_day_indexes')).toEqual([]);
  });
});

it('a statement of a migration without a transaction that failed is run again', async () => {
  const other = await createDatabase();
  const file = (text: string) => ({ '9003_again': `-- no transaction\n${text}` });
  try {
    await withMigrations(
      file('create table if not exists first (n int);\nselect 1 / 0;\n'),
      async (folder) => {
        await expect(migrate(other.db, undefined, folder)).rejects.toThrow(/9003_again/);
      },
    );
    await withMigrations(file('create table if not exists first (n int);\nselect 1;\n'), async (folder) => {
      expect(await migrate(other.db, undefined, folder)).toEqual(['9003_again']);
    });
  } finally {
    await other.close();
  }
});

it('a process waits for another that changes the schema, and says so', async () => {
  const other = await createDatabase();
  const said: string[] = [];
  const first = await other.pool.connect();
  try {
    // As processes of earlier versions do.
    await first.query('begin; select pg_advisory_xact_lock(3853314791062309107)');
    const migrating = migrate(other.db, {
      warn: ((_: object, message: string) => said.push(message)) as never,
    });
    await until(() => said.length > 0);
    await first.query('commit');
    expect(await migrating).toEqual([]);
    expect(said).toEqual(['another process changes the schema; it is waited for']);
  } finally {
    first.release(true);
    await other.close();
  }
});

it('a database that another version has migrated is left alone', async () => {
  const other = await createDatabase();
  try {
    await other.pool.query(`insert into kysely_migration values ('9999_later', '')`);
    await expect(migrate(other.db)).rejects.toMatchObject({
      message: 'The database could not be migrated',
      cause: { message: 'another version has already run 9999_later' },
    });
  } finally {
    await other.close();
  }
});
