import pg from 'pg';
import type { Log } from '../../common/log.ts';
import { faultOf } from './errors.ts';

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

/** What the driver reads, and our SQL is written for. PgBouncer keeps these for each client (intervalstyle since 1.20), and no others. */
const session = 'set datestyle = iso; set intervalstyle = postgres; set standard_conforming_strings = on';

/**
 * A pool in which a broken connection is a failed query and nothing more. It sets nothing else for a session: behind a connection
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
    onConnect: (client) => client.query({ text: session, query_timeout: connectTimeoutMs }) as never,
  });
  pool.on('error', (err) => log.debug({ err }, 'a connection to PostgreSQL broke'));
  // Also while it is checked out: it is the error of the next query, and without a listener it would end the process.
  pool.on('connect', (client) => client.on('error', () => {}));
  // A session that has raised an outage is closed: it may stay read-only for as long as it lives.
  const broken = new WeakSet<pg.Client>();
  pool.on('connect', (client) =>
    client.connection.on('errorMessage', (error) => faultOf(error) === 'outage' && broken.add(client)),
  );
  pool.on('release', (_error, client) => {
    if (broken.has(client)) void client.end();
  });
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
  const limit = timeoutMs === undefined ? {} : { query_timeout: timeoutMs };
  for (let tries = 1; ; tries += 1) {
    const client = await pool.connect();
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
      // Each idle session may be read-only still, where a new one is not.
      if ((error as pg.DatabaseError).code !== '25006' || tries > pool.options.max) throw error;
    }
  }
}
