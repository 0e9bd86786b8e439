import { Kysely, PostgresDialect } from 'kysely';
import type pg from 'pg';
import type { Log } from '../log.ts';
import { openPool } from './pool.ts';
import type { SessionSettings } from './session-settings.ts';
import type { Tables } from './tables.ts';

export interface Database {
  /** For everything that is not in a hurry. */
  db: Kysely<Tables>;
  /** For the path of a callback: prepared statements on the same connections. */
  pool: pg.Pool;
  url: string;
  close: () => Promise<void>;
}

/**
 * Opens a pool of connections; the first one is made when it is needed.
 *
 * @param url a PostgreSQL connection string
 * @param options `connections`: the pool's size; `name`: what `pg_stat_activity` shows; `queryTimeoutMs`:
 *   after which a query counts as lost, for a server that vanishes never says so, and shortly before which
 *   the server gives it up, for one that goes on would keep its connection and its locks; `settings`: of
 *   the sessions
 */
export function openDatabase(
  url: string,
  log: Log,
  options: {
    connections: number;
    name: string;
    queryTimeoutMs?: number;
    settings?: SessionSettings;
  },
): Database {
  const { connections, name, queryTimeoutMs, settings } = options;
  const limits = queryTimeoutMs ? { statement_timeout: Math.floor(queryTimeoutMs * 0.9) } : {};
  const config = {
    connectionString: url,
    max: connections,
    application_name: name,
    ...(queryTimeoutMs ? { query_timeout: queryTimeoutMs } : {}),
    settings: { ...limits, ...settings },
  };
  // What it means is for the circuits and the queries to say.
  const pool = openPool(config, (error) => log.debug({ err: error }, 'a connection to PostgreSQL broke'));
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const close = async () => {
    await db.destroy();
    // Kysely ends a pool only if it has used it itself.
    if (!pool.ended) await pool.end();
  };
  return { db, pool, url, close };
}
