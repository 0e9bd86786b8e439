import type pg from 'pg';

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
};

/** Of opening a connection, and of its first query. */
export const connectTimeoutMs = 2_000;

/**
 * Applies the settings of a new connection by a query, because a connection pooler such as PgBouncer rejects start-up
 * options.
 *
 * @param settings override those of every connection
 * @throws the database's error
 */
export async function applySettings(client: pg.ClientBase, settings: SessionSettings = {}): Promise<void> {
  const all = { ...required, ...settings };
  await client.query({
    // Older versions lack some of them.
    text: `select set_config(name, value, false) from unnest($1::text[], $2::text[]) as given (name, value)
           where current_setting(name, true) is not null`,
    values: [Object.keys(all), Object.values(all).map(String)],
    query_timeout: connectTimeoutMs,
  } as pg.QueryConfig);
}
