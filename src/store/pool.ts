import pg from 'pg';
import { timeLimits } from '../common/time-limits.ts';
import { DatabaseClient } from './client.ts';
import { applyInTransactions, type SessionSettings } from './transaction-settings.ts';

// The driver takes the option for a single statement too; its types have it only for a whole pool.
declare module 'pg' {
  interface QueryConfig<I> {
    query_timeout?: number;
  }
}

const { databaseMs: connectTimeoutMs } = timeLimits();

// The code relies on these, whatever is set for the server, the database or the role.
const required: SessionSettings = {
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: 1,
  standard_conforming_strings: 'on',
  default_transaction_isolation: 'read committed',
  // Compiling a statement can take longer than a callback may wait.
  jit: 'off',
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

type Connected = pg.ClientBase & {
  processID?: number | null;
  /** Whether its last statement has ended. */
  readyForQuery?: boolean;
  /** The process id of its last session, where a pooler gives it one for each transaction. */
  sessionOfPooler?: number;
};

/** PostgreSQL ends the transaction of a process that is frozen, with its locks, so that others go on. */
const idleInTransactionMs = 20_000;

/**
 * A pool in which a broken connection is only a failed query. A transaction in which nothing is done for twenty seconds ends:
 * one that only reads, and waits for somebody in between, calls `mayBeIdle`.
 *
 * @param config `settings`: of the sessions; `query_timeout`: the server cancels a statement shortly before the driver
 *   gives it up, because a statement that continued would keep its connection and its locks
 * @param onError called for each broken connection
 */
export function openPool(
  {
    settings,
    ...config
  }: pg.PoolConfig & { connectionString: string; settings?: SessionSettings | undefined },
  onError: (error: Error) => void,
): pg.Pool {
  const timeout = config.query_timeout ? { statement_timeout: Math.floor(config.query_timeout * 0.9) } : {};
  const all = { idle_in_transaction_session_timeout: idleInTransactionMs, ...timeout, ...settings };
  const onConnect = (client: pg.ClientBase) => applySettings(client, all, config.connectionTimeoutMillis);
  const Client = DatabaseClient as never;
  const common = {
    Client,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    // Otherwise a queue that waits for a notification from a server that vanished would wait for two hours.
    keepAliveInitialDelayMillis: 10_000,
  };
  const pool = new pg.Pool({ ...common, onConnect, ...config });
  pool.on('error', onError);
  pool.on('release', (error, client) => {
    const { processID, sessionOfPooler = processID, readyForQuery } = client as Connected;
    // Kysely releases a connection without the error of its statement. A connection whose statement has timed out, and
    // still waits for a host that is gone, would be taken again and again.
    if (!error && !readyForQuery) void (client as unknown as pg.Client).end();
    if ((error as Error | undefined)?.message === 'Query read timeout' && sessionOfPooler) {
      void cancel(config.connectionString, client as unknown as pg.Client, sessionOfPooler);
    }
  });
  return pool;
}

// By server, while the connection that cancels is open: one for all of them, as the number of connections is limited.
const toCancel = new Map<string, number[]>();

/**
 * Cancels a statement that the driver has given up. A commit that waits for a synchronous standby obeys neither
 * `statement_timeout` nor the end of its connection, and would keep its connection slot.
 */
async function cancel(url: string, { host, port }: pg.Client, processId: number): Promise<void> {
  const server = `${host}:${port} ${url}`;
  const others = toCancel.get(server);
  if (others) {
    others.push(processId);
    return;
  }
  const processIds = [processId];
  toCancel.set(server, processIds);
  await withClient(url, async (client) => {
    // After a failover the process ids are those of others.
    while (processIds.length > 0 && client.host === host && client.port === port) {
      await client.query({
        text: 'select pg_cancel_backend(id) from unnest($1::int[]) as given (id)',
        values: [processIds.splice(0)],
        query_timeout: connectTimeoutMs,
      });
    }
    toCancel.delete(server);
  }).catch(() => toCancel.delete(server)); // unreachable: the server has lost the statement, or ends it when it recovers
}

/** Runs a function on a connection of its own. */
export async function withClient<T>(
  url: string,
  run: (client: pg.Client) => Promise<T>,
  settings?: SessionSettings,
): Promise<T> {
  const client = new DatabaseClient({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs });
  await client.connect();
  try {
    await applySettings(client, settings);
    return await run(client);
  } finally {
    await client.end();
  }
}

/**
 * Applies the settings of a new connection by a query, because a connection pooler such as PgBouncer rejects start-up
 * options. Behind a pooler, where the session may be another one for each transaction, they are applied in each
 * transaction instead.
 *
 * @param settings override those of every connection
 * @throws the database's error
 */
async function applySettings(
  client: Connected,
  settings: SessionSettings = {},
  timeoutMs = connectTimeoutMs,
): Promise<void> {
  const all = { search_path: 'public', ...required, ...settings };
  const { rows } = await client.query({
    // Older versions lack some settings. A pooler invents the process id that it gives to its clients.
    text: `select pg_backend_pid() = $3 as is_direct, array_agg(name) as known,
             count(set_config(name, value, false)) filter (where pg_backend_pid() = $3)
           from unnest($1::text[], $2::text[]) as given (name, value)
           where current_setting(name, true) is not null`,
    values: [Object.keys(all), Object.values(all).map(String), client.processID],
    query_timeout: timeoutMs,
  });
  const { is_direct, known } = rows[0] as { is_direct: boolean; known: string[] };
  if (is_direct) return;
  const usable = Object.fromEntries(Object.entries(all).filter(([name]) => known.includes(name)));
  applyInTransactions(client, usable, (processId) => {
    client.sessionOfPooler = processId;
  });
}
