import pg from 'pg';
import type { Deployment } from './deployment.ts';

/** Runs a function on a connection of its own, however long a busy machine takes to open it. Its end ends a transaction. */
export async function withSession<T>(
  { databaseUrl }: Pick<Deployment, 'databaseUrl'>,
  run: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client(databaseUrl);
  client.on('error', () => {});
  await client.connect();
  try {
    return await run(client);
  } finally {
    await client.end();
  }
}
