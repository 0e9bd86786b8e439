import type pg from 'pg';

/**
 * Runs statements in a transaction that is rolled back, on one connection. Constraints and triggers that wait for the
 * commit are checked before.
 *
 * @throws the error of a statement; the connection is closed then
 */
export async function rolledBack(
  pool: pg.Pool,
  run: (client: pg.ClientBase) => Promise<void>,
): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await run(client);
    await client.query('set constraints all immediate');
    await client.query('rollback');
    client.release();
  } catch (error) {
    client.release(error as Error);
    throw error;
  }
}
