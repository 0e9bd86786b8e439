import pg from 'pg';
import type { Log } from '../../common/log.ts';

// The driver takes the option for a single statement too; its types have it only for a whole pool.
declare module 'pg' {
  interface QueryConfig<I> {
    query_timeout?: number;
  }
}

interface PoolOptions {
  /** `application_name` in `pg_stat_activity`. */
  name: string;
  connections: number;
  /** The time limit of a connection, in milliseconds. */
  connectTimeoutMs: number;
}

/**
 * A pool in which a broken connection is a failed query and nothing more. It sets nothing for a session: behind a connection
 * pooler the session of the next transaction may be another one.
 *
 * @param url a PostgreSQL connection string
 */
export function openPool(url: string, log: Log, options: PoolOptions): pg.Pool {
  const { name, connections, connectTimeoutMs } = options;
  const pool = new pg.Pool({
    connectionString: url,
    application_name: name,
    max: connections,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  });
  pool.on('error', (err) => log.debug({ err }, 'a connection to PostgreSQL broke'));
  // Also while it is checked out: it is the error of the next query, and without a listener it would end the process.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/**
 * Runs a function in a transaction. Its first message, one for all, sets what is local to it and takes its locks.
 *
 * @param first SQL of the first message behind `begin`
 * @param timeoutMs after which the driver gives up that message, or the end of the transaction, and closes the connection
 * @throws the function's error, or the database's; then nothing was changed, and after an outage the connection is closed
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  first: string,
  run: (client: pg.PoolClient) => Promise<T>,
  timeoutMs?: number,
): Promise<T> {
  const client = await pool.connect();
  const limit = timeoutMs === undefined ? {} : { query_timeout: timeoutMs };
  try {
    await client.query({ text: `begin isolation level read committed; ${first}`, ...limit });
    const result = await run(client);
    await client.query({ text: 'commit', ...limit });
    client.release();
    return result;
  } catch (error) {
    const isUsable =
      error instanceof pg.DatabaseError &&
      (await client.query({ text: 'rollback', ...limit }).then(
        () => true,
        () => false,
      ));
    client.release(!isUsable);
    throw error;
  }
}
