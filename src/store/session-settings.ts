import type pg from 'pg';

/** Settings of PostgreSQL for a session, such as `statement_timeout` in milliseconds. */
export type SessionSettings = Record<string, string | number>;

// The code relies on these, whatever was set for the server, the database or the role.
const reliedOn: SessionSettings = {
  search_path: 'public',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: 1,
  standard_conforming_strings: 'on',
  default_transaction_isolation: 'read committed',
  // Each connection has time limits of its own.
  statement_timeout: 0,
  lock_timeout: 0,
  transaction_timeout: 0,
  idle_in_transaction_session_timeout: 0,
  idle_session_timeout: 0,
};

const timeoutMs = 2_000;

/**
 * Gives a new connection its settings. This is the only place that knows how they reach the server: by a
 * query and not by start-up options, which a connection pooler such as PgBouncer refuses.
 *
 * @param settings beside those that every connection has, or instead of them
 * @throws the database's error
 */
export async function applySettings(client: pg.ClientBase, settings: SessionSettings = {}): Promise<void> {
  const all = { ...reliedOn, ...settings };
  await client.query({
    // Older versions do not know all of them.
    text: `select set_config(name, value, false) from unnest($1::text[], $2::text[]) as given (name, value)
           where current_setting(name, true) is not null`,
    values: [Object.keys(all), Object.values(all).map(String)],
    query_timeout: timeoutMs,
  } as pg.QueryConfig);
}
