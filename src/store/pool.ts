import pg from 'pg';
import { applySettings, connectTimeoutMs, type SessionSettings } from './session-settings.ts';

/**
 * A pool in which a broken connection is only a failed query. A client without an error listener would end the process
 * when the server closes its connection while it is checked out and idle, as in a transaction.
 *
 * @param config `settings`: of the sessions; `query_timeout`: the server cancels a statement shortly before the driver
 *   gives it up, because a statement that continued would keep its connection and its locks
 * @param onError called for each broken connection
 */
export function openPool<P extends pg.Pool = pg.Pool>(
  { settings, ...config }: pg.PoolConfig & { settings?: SessionSettings | undefined },
  onError: (error: Error) => void,
  Pool: new (config: pg.PoolConfig) => P = pg.Pool as never,
): P {
  const timeout = config.query_timeout ? { statement_timeout: Math.floor(config.query_timeout * 0.9) } : {};
  const onConnect = (client: pg.ClientBase) => applySettings(client, { ...timeout, ...settings });
  const pool = new Pool({ connectionTimeoutMillis: connectTimeoutMs, keepAlive: true, onConnect, ...config });
  pool.on('connect', (client) => client.on('error', () => {}));
  pool.on('error', onError);
  pool.on('release', (error, client) => {
    const { processID } = client as { processID?: number | null };
    if ((error as Error | undefined)?.message === 'Query read timeout' && processID) {
      void cancel(config, processID);
    }
  });
  return pool;
}

/**
 * Cancels a statement that the driver has given up. A commit that waits for a synchronous standby obeys neither
 * `statement_timeout` nor the end of its connection, and would keep its connection slot.
 */
async function cancel(config: pg.ClientConfig, processId: number): Promise<void> {
  const client = new pg.Client({
    connectionTimeoutMillis: connectTimeoutMs,
    ...config,
    query_timeout: connectTimeoutMs,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('select pg_cancel_backend($1)', [processId]);
  } catch {
    // Unreachable: the server has lost the statement, or ends it when it recovers.
  } finally {
    await client.end().catch(() => {});
  }
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
