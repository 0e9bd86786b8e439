import pg from 'pg';

/** Settings of PostgreSQL for a session, such as `statement_timeout` in milliseconds. */
export type SessionSettings = Record<string, string | number>;

type Query = (...args: unknown[]) => Promise<pg.QueryResult | pg.QueryResult[]>;
type Callback = (error: unknown, result?: unknown) => void;

// These cannot run in a transaction.
const alone = /^(?:\s|--.*\n)*(?:vacuum\b|(?:create|drop|reindex)\b[^;]*\bconcurrently\b)/i;
const begin = /^\s*(?:begin|start transaction)\b/i;

/**
 * Makes a connection apply settings in each transaction, where a connection pooler such as PgBouncer may give each
 * transaction another session. A statement outside of a transaction gets one of its own; all its messages are sent at
 * once, so it waits for one round trip as before.
 *
 * @param settings those that the server knows
 * @param onSession called with the process id of the session of each transaction
 */
export function applyInTransactions(
  client: pg.ClientBase,
  settings: SessionSettings,
  onSession: (processId: number) => void,
): void {
  const session = client as pg.ClientBase & { pipeline: boolean; getTransactionStatus: () => string | null };
  const send = client.query.bind(client) as Query;
  const calls = Object.entries(settings)
    // These count for a whole session: the isolation is that of `begin`, and the pooler closes sessions that are idle,
    // or whose host has vanished.
    .filter(([name]) => !/^(default_transaction_isolation|idle_session_timeout|tcp_.*)$/.test(name))
    .map(
      ([name, value]) => `set_config(${pg.escapeLiteral(name)}, ${pg.escapeLiteral(String(value))}, true)`,
    );
  const apply = `select ${calls.join(', ')}, pg_backend_pid() as pid`;
  const sendBegin = async (text: string) => {
    const isolated = /\bisolation\b/i.test(text)
      ? text
      : text.replace(begin, '$& isolation level read committed');
    const results = (await send(`${isolated}; ${apply}`)) as pg.QueryResult[];
    onSession(results.at(-1)!.rows[0].pid);
    return results[0]!;
  };
  const sendInTransaction = async (args: unknown[]) => {
    session.pipeline = true;
    try {
      const [began, result, committed] = await Promise.allSettled([
        sendBegin('begin'),
        send(...args),
        send('commit'),
      ]);
      for (const part of [began, result, committed]) if (part.status === 'rejected') throw part.reason;
      return (result as PromiseFulfilledResult<unknown>).value;
    } finally {
      session.pipeline = false;
    }
  };

  client.query = ((...given: unknown[]) => {
    const text = (given[0] as { text?: string }).text ?? given[0];
    // A cursor needs a transaction of its caller.
    if (typeof text !== 'string' || session.getTransactionStatus() !== 'I' || alone.test(text))
      return send(...given);
    const callback = typeof given.at(-1) === 'function' ? (given.at(-1) as Callback) : undefined;
    const args = callback ? given.slice(0, -1) : given;
    const result = begin.test(text) ? sendBegin(text) : sendInTransaction(args);
    if (!callback) return result;
    result.then(
      (rows) => callback(undefined, rows),
      (error) => callback(error),
    );
    return undefined;
  }) as typeof client.query;
}

/**
 * Settings for which PostgreSQL plans the statement with look-ups in indexes alone, once. Such a plan is right for
 * tables of any size; one that is chosen for empty tables scans them completely once they are large.
 */
export const planForAnySize: SessionSettings = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
};
