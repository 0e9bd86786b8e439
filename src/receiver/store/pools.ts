import { hash } from 'node:crypto';
import pg from 'pg';
import type { Log } from '../../common/log.ts';
import { faultOf, hasState } from './errors.ts';

// The driver takes the option for a single statement too; its types have it only for a whole pool.
declare module 'pg' {
  interface QueryConfig<I> {
    query_timeout?: number;
  }
}

/** For the driver and our SQL. PgBouncer keeps these for each client (intervalstyle since 1.20), and no others. */
const session = 'set datestyle = iso; set intervalstyle = postgres; set standard_conforming_strings = on';

/**
 * A broken connection is a failed query and nothing more. It sets nothing else for a session: behind a connection pooler the
 * session of the next transaction may be another one.
 *
 * @param options `name` in `pg_stat_activity`
 */
export function openPool(
  url: string,
  log: Log,
  options: { name: string; connections: number; connectTimeoutMs: number },
): pg.Pool {
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
    client.connection.on('errorMessage', (error) => {
      if (faultOf(error) === 'outage') broken.add(client);
      if (isUnprepared(error)) unprepared.add(pool);
    }),
  );
  pool.on('release', (_error, client) => {
    if (broken.has(client)) void client.end();
  });
  return pool;
}

/** Pools behind a connection pooler that gave a transaction a session without its statement. */
const unprepared = new WeakSet<pg.Pool>();
const names = new Map<string, string>();

/**
 * A prepared statement, where the pool can have any. Its name is a hash of its text: behind a pooler, statements of other processes
 * have names in the same session.
 */
export function prepared(pool: pg.Pool, query: pg.QueryConfig): pg.QueryConfig {
  if (unprepared.has(pool)) return query;
  const name = names.get(query.text) ?? hash('sha256', query.text, 'base64url');
  names.set(query.text, name);
  return { ...query, name };
}

export async function queryPrepared<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  query: pg.QueryConfig,
): Promise<Row[]> {
  try {
    return (await pool.query<Row>(prepared(pool, query))).rows;
  } catch (error) {
    // Nothing was executed: the same works without a name.
    if (!isUnprepared(error)) throw error;
    return (await pool.query<Row>(query)).rows;
  }
}

const isUnprepared = (error: unknown) =>
  hasState(error, 'duplicatePreparedStatement', 'invalidStatementName');

/** The first SQL of a transaction on a connection of the path that is not worth a wait: callbacks need the connections. */
export const besideThePath = 'set local lock_timeout = 1000; set local statement_timeout = 4000';

/** The first SQL of a transaction whose statements see the same, and change nothing. */
export const snapshot = 'set transaction isolation level repeatable read, read only';

/**
 * Runs a function in a transaction.
 *
 * @param first SQL of the first message, behind `begin`: settings and locks
 * @param timeoutMs of the driver for that message and for the end of the transaction; then it closes the connection
 * @throws the function's error, or the database's; then nothing was changed, and after an outage the connection is closed
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  first: string,
  run: (client: pg.PoolClient) => Promise<T>,
  timeoutMs?: number,
): Promise<T> {
  const limit = timeoutMs === undefined ? {} : { query_timeout: timeoutMs };
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
    throw error;
  }
}
