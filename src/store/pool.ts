import pg from 'pg';

/** Settings of PostgreSQL for a session, such as `statement_timeout` in milliseconds. */
export type SessionSettings = Record<string, string | number>;

// The code relies on these, whatever is set for the server, the database or the role.
const required: SessionSettings = {
  search_path: 'public',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: 1,
  standard_conforming_strings: 'on',
  default_transaction_isolation: 'read committed',
  // Each pool sets its own timeouts.
  statement_timeout: 0,
  lock_timeout: 0,
  transaction_timeout: 0,
  idle_in_transaction_session_timeout: 0,
  idle_session_timeout: 0,
  // The sessions of a host that vanished, and their locks, would stay for two hours: TCP's default.
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 25_000,
};

/** Of opening a connection, and of its first query. */
const connectTimeoutMs = 2_000;

/**
 * A pool in which a broken connection is only a failed query. A client without an error listener would end the process
 * when the server closes its connection while it is checked out and idle, as in a transaction.
 *
 * @param config `settings`: of the sessions; `query_timeout`: the server cancels a statement shortly before the driver
 *   gives it up, because a statement that continued would keep its connection and its locks
 * @param onError called for each broken connection
 */
export function openPool<P extends pg.Pool = pg.Pool>(
  {
    settings,
    ...config
  }: pg.PoolConfig & { connectionString: string; settings?: SessionSettings | undefined },
  onError: (error: Error) => void,
  Pool: new (config: pg.PoolConfig) => P = pg.Pool as never,
): P {
  const timeout = config.query_timeout ? { statement_timeout: Math.floor(config.query_timeout * 0.9) } : {};
  const onConnect = (client: pg.ClientBase) => applySettings(client, { ...timeout, ...settings });
  const pool = new Pool({
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    // Otherwise a queue that waits for a notification from a server that vanished would wait for two hours.
    keepAliveInitialDelayMillis: 10_000,
    onConnect,
    ...config,
  });
  pool.on('connect', (client) => client.on('error', () => {}));
  pool.on('error', onError);
  pool.on('release', (error, client) => {
    const { processID, readyForQuery } = client as { processID?: number | null; readyForQuery?: boolean };
    // Kysely releases a connection without the error of its statement. A connection whose statement has timed out, and
    // still waits for a host that is gone, would be taken again and again.
    if (!error && !readyForQuery) void (client as pg.Client).end();
    if ((error as Error | undefined)?.message === 'Query read timeout' && processID) {
      void cancel(config.connectionString, processID);
    }
  });
  return pool;
}

/**
 * Cancels a statement that the driver has given up. A commit that waits for a synchronous standby obeys neither
 * `statement_timeout` nor the end of its connection, and would keep its connection slot.
 */
async function cancel(url: string, processId: number): Promise<void> {
  const query = {
    text: 'select pg_cancel_backend($1)',
    values: [processId],
    query_timeout: connectTimeoutMs,
  } as pg.QueryConfig;
  // Unreachable: the server has lost the statement, or ends it when it recovers.
  await withClient(url, (client) => client.query(query)).catch(() => {});
}

/** Runs a function on a connection of its own. */
export async function withClient<T>(url: string, run: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs });
  client.on('error', () => {}); // raised by the query
  await client.connect();
  try {
    await applySettings(client);
    return await run(client);
  } finally {
    await client.end();
  }
}

/**
 * Applies the settings of a new connection by a query, because a connection pooler such as PgBouncer rejects start-up
 * options.
 *
 * @param settings override those of every connection
 * @throws the database's error
 */
async function applySettings(client: pg.ClientBase, settings: SessionSettings = {}): Promise<void> {
  const all = { ...required, ...settings };
  await client.query({
    // Older versions lack some of them.
    text: `select set_config(name, value, false) from unnest($1::text[], $2::text[]) as given (name, value)
           where current_setting(name, true) is not null`,
    values: [Object.keys(all), Object.values(all).map(String)],
    query_timeout: connectTimeoutMs,
  } as pg.QueryConfig);
}
