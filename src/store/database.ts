import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { Log } from '../common/log.ts';
import { openPool } from './pool.ts';
import type { Db, Tables } from './tables.ts';
import type { SessionSettings } from './transaction-settings.ts';

export type Database = ReturnType<typeof openDatabase>;

/**
 * Opens a connection pool; the first query makes the first connection.
 *
 * @param url a PostgreSQL connection string
 * @param options `connections`: the pool's size; `name`: `application_name` in `pg_stat_activity`; `queryTimeoutMs`:
 *   see `openPool`; `connectTimeoutMs`: of a connection and its first query; `settings`: of the sessions
 * @returns `pool`, for the path of a callback: prepared statements, on the same connections; `db` for everything else
 */
export function openDatabase(
  url: string,
  log: Log,
  options: {
    connections: number;
    name: string;
    queryTimeoutMs?: number;
    connectTimeoutMs?: number;
    settings?: SessionSettings;
  },
) {
  const { connections: max, name: application_name, queryTimeoutMs, connectTimeoutMs, settings } = options;
  const timeout = {
    ...(queryTimeoutMs && { query_timeout: queryTimeoutMs }),
    ...(connectTimeoutMs && { connectionTimeoutMillis: connectTimeoutMs }),
  };
  const config = { connectionString: url, max, application_name, settings, ...timeout };
  // Circuits and queries report the outage.
  const pool = openPool(config, (error) => log.debug({ err: error }, 'a connection to PostgreSQL broke'));
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const close = async () => {
    await db.destroy();
    // Kysely ends a pool only if it has used it.
    if (!pool.ended) await pool.end();
  };
  return { db, pool, url, close };
}

/** A connection of a pool, as `openDatabase` gives the pool itself. */
export interface Connection {
  db: Db;
  client: pg.PoolClient;
}

/**
 * Runs a function on one connection: an error of a statement does not close it, so what it has prepared stays.
 *
 * @throws the function's error; the connection is closed if that is not one of PostgreSQL
 */
export async function withConnection<T>(pool: pg.Pool, run: (connection: Connection) => Promise<T>) {
  const client = await pool.connect();
  const borrowed = { query: client.query.bind(client), release: () => {} };
  const dialect = new PostgresDialect({
    pool: { connect: async () => borrowed as never, end: async () => {} },
  });
  try {
    const result = await run({ db: new Kysely<Tables>({ dialect }), client });
    client.release();
    return result;
  } catch (error) {
    client.release(error instanceof pg.DatabaseError ? undefined : (error as Error));
    throw error;
  }
}
