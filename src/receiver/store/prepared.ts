import { createHash } from 'node:crypto';
import pg from 'pg';

// duplicate_prepared_statement, invalid_sql_statement_name: the statement was not executed.
const notPrepared = new Set(['42P05', '26000']);

const unsupported = new WeakSet<pg.Pool>();

const names = new Map<string, string>();

/** A name that belongs to this text alone: behind a pooler, statements of other processes have names in the same session. */
function nameOf(text: string): string {
  let name = names.get(text);
  if (!name) {
    name = createHash('sha256').update(text).digest('base64url');
    names.set(text, name);
  }
  return name;
}

/**
 * Runs a prepared statement; the same without a name where there can be none: a connection pooler that gives each transaction
 * another connection, and does not know about prepared statements, reports one as missing or as existing already.
 *
 * @param run by default on a connection of the pool, which closes it after an error
 * @throws the database's error
 */
export async function queryPrepared<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  query: pg.QueryConfig,
  run: (query: pg.QueryConfig) => Promise<{ rows: Row[] }> = (one) => pool.query<Row>(one),
): Promise<Row[]> {
  if (!unsupported.has(pool))
    try {
      return (await run({ ...query, name: nameOf(query.text) })).rows;
    } catch (error) {
      if (!(error instanceof pg.DatabaseError && notPrepared.has(error.code!))) throw error;
      unsupported.add(pool);
    }
  return (await run(query)).rows;
}
