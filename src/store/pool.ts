import pg from 'pg';
import { applySettings, type SessionSettings } from './session-settings.ts';

/**
 * A pool whose broken connections are no more than failed queries: a client without a listener for errors
 * ends the process when the server goes away while it is checked out and idle, in a transaction say.
 *
 * @param config `settings`: of the sessions
 * @param onError told of each connection that broke
 */
export function openPool<P extends pg.Pool = pg.Pool>(
  { settings, ...config }: pg.PoolConfig & { settings?: SessionSettings },
  onError: (error: Error) => void,
  Pool: new (config: pg.PoolConfig) => P = pg.Pool as never,
): P {
  const onConnect = (client: pg.ClientBase) => applySettings(client, settings);
  const pool = new Pool({ connectionTimeoutMillis: 2_000, keepAlive: true, onConnect, ...config });
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
 * Ends a statement that the driver has given up. A commit that waits for a synchronous standby minds neither
 * the server's time limits nor that its connection is closed, and would keep its place among them.
 */
async function cancel(config: pg.ClientConfig, processId: number): Promise<void> {
  const client = new pg.Client({ connectionTimeoutMillis: 2_000, ...config, query_timeout: 2_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('select pg_cancel_backend($1)', [processId]);
  } catch {
    // The server is not to be reached: then it holds nothing for us, or ends it when it comes back.
  } finally {
    await client.end().catch(() => {});
  }
}

/** Runs something on a connection of its own. */
export async function withClient<T>(url: string, run: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => {}); // the query that it broke says so
  await client.connect();
  try {
    await applySettings(client);
    return await run(client);
  } finally {
    await client.end();
  }
}
