import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { createLog } from '../../src/log.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';

export interface TestDatabase extends Database {
  /** Rows of a query. */
  rows: (query: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;
}

/**
 * A new, empty database for this test.
 *
 * @param encoding default: UTF8
 */
export async function createEmptyDatabase(encoding?: 'LATIN1' | 'SQL_ASCII'): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await asAdministrator(async (client) => {
    const { rows } = await client.query(
      `select current_setting('server_version_num')::int >= 150000 as named`,
    );
    // PostgreSQL 14 has one provider. Another than the embedded server's, which knows UTF8 only.
    const provider = rows[0].named ? 'locale_provider libc' : '';
    const other = `encoding '${encoding}' template template0 ${provider} locale 'C'`;
    await client.query(`create database ${name} ${encoding ? other : ''}`);
  });
  const url = new URL(process.env.TEST_POSTGRES_URL!);
  url.pathname = `/${name}`;
  const database = openDatabase(url.href, createLog('silent'), { connections: 5, name: 'test' });
  return {
    ...database,
    rows: async (query, values = []) => (await database.pool.query(query, values)).rows,
    close: async () => {
      await database.close();
      await asAdministrator((client) => client.query(`drop database ${name} with (force)`));
    },
  };
}

/** A new database for this test, with the service's tables. */
export async function createDatabase(): Promise<TestDatabase> {
  const database = await createEmptyDatabase();
  await migrate(database.db);
  return database;
}

/** Allows connections to the database, or forbids them and ends the existing ones: an outage. */
export async function allowConnections({ url }: Pick<TestDatabase, 'url'>, allowed: boolean): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await asAdministrator(async (client) => {
    await client.query(`alter database ${name} with allow_connections ${allowed}`);
    if (allowed) return;
    await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
  });
}

async function asAdministrator(run: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: process.env.TEST_POSTGRES_URL });
  await client.connect();
  try {
    await run(client);
  } finally {
    await client.end();
  }
}
