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
  return pool;
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
