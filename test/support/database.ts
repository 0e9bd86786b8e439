import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { createLog } from '../../src/common/log.ts';
import { prepareQueueTables } from '../../src/queue/postgres-backend.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { findDue, readFiles } from '../../src/store/migration-list.ts';
import { ownSchema } from './schema.ts';

export interface TestDatabase extends Database {
  /** Rows of a query. */
  rows: (query: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;
}

export interface UseOptions {
  /** Default: one for all tests of the file, or of the `describe`. */
  per?: 'file' | 'test';
  /** Without the receiver's tables. */
  empty?: boolean;
}

/** A database that is usable from the first test on, and closed after the last. */
export function useDatabase({ per = 'file', empty = false }: UseOptions = {}): TestDatabase {
  const database = {} as TestDatabase;
  const [before, after] = per === 'file' ? [beforeAll, afterAll] : [beforeEach, afterEach];
  before(async () => {
    Object.assign(database, await (empty ? createEmptyDatabase() : createDatabase()));
  });
  after(() => database.close());
  return database;
}

/**
 * A new, empty database for this test.
 *
 * @param encoding default: UTF8
 */
export async function createEmptyDatabase(encoding?: 'LATIN1' | 'SQL_ASCII'): Promise<TestDatabase> {
  if (!encoding) return open(await create());
  const [row] = await administer(`select current_setting('server_version_num')::int >= 150000 as named`);
  // PostgreSQL 14 has one provider. Another than the embedded server's, which knows UTF8 only.
  const provider = row!.named ? 'locale_provider libc' : '';
  return open(await create(`encoding '${encoding}' template template0 ${provider} locale 'C'`));
}

let files: ReturnType<typeof readFiles> | undefined;

/** A new database for this test, with the receiver's tables: a copy of the template with an identity of its own. */
export async function createDatabase(): Promise<TestDatabase> {
  const name = await create(`template ${process.env.TEST_POSTGRES_TEMPLATE}`);
  const database = open(name);
  // Otherwise the next start would treat it as a restored backup.
  files ??= readFiles(ownSchema);
  const { checksum } = await findDue(database.db, await files);
  await database.rows(
    `with identity as (update database_identity set id = default),
       salt as (update erasure_salt set salt = default)
     update receiver_migrations set checksum = $1 where name = 'reporting'`,
    [checksum],
  );
  return database;
}

/**
 * Migrates the database that createDatabase() copies in all processes of this run. A copy takes a third of the time.
 *
 * @returns a function that drops it
 */
export async function createTemplate(): Promise<() => Promise<void>> {
  const name = await create();
  const { db, url } = open(name);
  await migrate(db);
  await prepareQueueTables(url);
  await db.destroy();
  // PostgreSQL copies a database only while nobody is connected to it.
  await administer(`alter database ${name} allow_connections false`);
  process.env.TEST_POSTGRES_TEMPLATE = name;
  return () => drop(name);
}

function open(name: string): TestDatabase {
  const url = Object.assign(new URL(process.env.TEST_POSTGRES_URL!), { pathname: `/${name}` }).href;
  // A test that holds a lock, or a snapshot, may do so for as long as a slow machine takes.
  const settings = { idle_in_transaction_session_timeout: 0 };
  const database = openDatabase(url, createLog('silent'), { connections: 20, name: 'test', settings });
  return {
    ...database,
    rows: async (query, values = []) => (await database.pool.query(query, values)).rows,
    close: async () => {
      await database.close();
      await drop(name);
    },
  };
}

async function create(options = ''): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(`create database ${name} ${options}`);
  return name;
}

async function drop(name: string): Promise<void> {
  await administer(`drop database ${name} with (force)`);
}

/** Allows connections to the database, or forbids them and ends the existing ones: an outage. */
export async function allowConnections({ url }: Pick<TestDatabase, 'url'>, allowed: boolean): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await administer(`alter database ${name} with allow_connections ${allowed}`);
  if (allowed) return;
  await administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
}

/** A copy of a database on the same server, with its identity; connections to the original end. */
export async function createCopy(original: Pick<TestDatabase, 'url'>): Promise<TestDatabase> {
  await allowConnections(original, false);
  try {
    return open(await create(`template ${new URL(original.url).pathname.slice(1)}`));
  } finally {
    await allowConnections(original, true);
  }
}

async function administer(statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: process.env.TEST_POSTGRES_URL });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}
