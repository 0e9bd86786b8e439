import pg from 'pg';

/** The rows of a query on a connection of its own. */
export async function queryOnce(url: string, query: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  // A server that ends closes it too; without a listener that ends the process.
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(query)).rows;
  } finally {
    await client.end();
  }
}
