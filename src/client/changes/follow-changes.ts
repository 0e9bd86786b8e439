import { setTimeout as sleep } from 'node:timers/promises';
import { ReadFromBeginning } from '../errors.ts';
import type { Batch } from './read-batches.ts';

/** A transaction of PostgreSQL, as package pg has it. */
export interface Transaction {
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: Record<string, unknown>[]; readonly rowCount: number | null }>;
}

interface Client extends Transaction {
  on(event: 'error', listener: (error: Error) => void): unknown;
  release(destroy: boolean): void;
  /** Not documented by package pg: whether no statement is in progress. */
  readonly readyForQuery?: boolean | undefined;
}

/** A pool of connections to PostgreSQL, as package pg has it. They must reach the server itself, or a pooler of sessions. */
export interface Pool {
  connect(): Promise<Client>;
}

export interface FollowOptions {
  /** Ends it after the changes in progress. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Deletes what `handle` has made, in the transaction after which all records are read from the beginning. It is called where
   * the cursor is not known any more; without it, that is an error, ReadFromBeginning.
   */
  readonly reset?: ((transaction: Transaction) => unknown) | undefined;
}

const waitMs = 1_000;
const signOfLifeMs = 5_000;
const silentMs = 4 * signOfLifeMs;
const idleSaveMs = 60_000;

/** See `ChangesClient.followChanges`. @param read the changes after a cursor, until the signal is aborted */
export async function followChanges<C>(
  pool: Pool,
  name: string,
  handle: (change: C, transaction: Transaction) => unknown,
  read: (after: string | undefined) => AsyncIterable<Batch<C>>,
  { signal, reset }: FollowOptions,
): Promise<void> {
  const client = await pool.connect();
  // A lost connection is told by the next query.
  client.on('error', () => {});
  const save = inTransactions(client, name);
  const end = await showLife(client);
  try {
    await provideTable(client);
    await waitForTurn(client, name, signal);
    let cursor = await readCursor(client, name);
    for (;;) {
      try {
        let savedAt = performance.now();
        for await (const { changes, next } of read(cursor)) {
          // Without changes the cursor moves, too: one that is not saved for a month would be forgotten.
          if (changes.length === 0 && performance.now() < savedAt + idleSaveMs) continue;
          await save(cursor, next, async () => {
            for (const change of changes) await handle(change, client);
          });
          cursor = next;
          savedAt = performance.now();
          signal?.throwIfAborted();
        }
        return;
      } catch (error) {
        if (!(error instanceof ReadFromBeginning && reset && cursor !== undefined)) throw error;
        await save(cursor, undefined, () => reset(client));
        cursor = undefined;
      }
    }
  } catch (error) {
    if (signal?.aborted && error === signal.reason) return;
    throw error;
  } finally {
    end();
    // The lock ends with the connection.
    client.release(true);
  }
}

/**
 * Has PostgreSQL end the session where this process is frozen, so that another one goes on, and sends a statement every few
 * seconds until the returned function is called. What was handled and not committed is rolled back; the next statement of a process
 * that wakes up is an error. Before PostgreSQL 14, a session is ended in a transaction only.
 */
async function showLife(client: Client): Promise<() => void> {
  try {
    await client.query(
      `select set_config(name, $1, false) from unnest(array['idle_session_timeout', 'idle_in_transaction_session_timeout']) as name
       where current_setting(name, true) is not null`,
      [`${silentMs}ms`],
    );
  } catch (error) {
    client.release(true);
    throw error;
  }
  const timer = setInterval(() => {
    if (client.readyForQuery !== false) client.query('select 1').catch(() => {}); // told by the next statement
  }, signOfLifeMs);
  return () => clearInterval(timer);
}

async function provideTable(client: Transaction): Promise<void> {
  // Where it is there, the role needs no right to create tables.
  const isFound = async () => {
    const { rows } = await client.query(`select to_regclass('followed_changes') is not null as found`);
    return rows[0]!.found;
  };
  if (await isFound()) return;
  try {
    await client.query(`
      create table if not exists followed_changes (
        name text primary key, cursor text, saved_at timestamptz not null default now())`);
  } catch (error) {
    // Another process may have created it at the same moment.
    if (!(await isFound())) throw error;
  }
}

/**
 * Waits until no other process follows the changes by this name. Every role of the database can take such a lock: one that may
 * not write the table does not follow.
 *
 * @throws the signal's reason
 */
async function waitForTurn(
  client: Transaction,
  name: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (;;) {
    const { rows } = await client.query(
      `select pg_try_advisory_lock(key) or not exists (
         select from pg_locks l join pg_stat_activity a using (pid)
         where l.locktype = 'advisory' and l.objsubid = 1 and l.granted and l.pid <> pg_backend_pid()
           and l.database = (select oid from pg_database where datname = current_database())
           and (l.classid::bigint << 32 | l.objid::bigint) = key
           and has_table_privilege(a.usesysid, 'followed_changes', 'update')
       ) as taken
       from hashtextextended($1, 1) as key`,
      [name],
    );
    if (rows[0]!.taken) return;
    await sleep(waitMs, undefined, signal && { signal }).catch(() => signal?.throwIfAborted());
  }
}

async function readCursor(client: Transaction, name: string): Promise<string | undefined> {
  await client.query('insert into followed_changes (name) values ($1) on conflict do nothing', [name]);
  const { rows } = await client.query('select cursor from followed_changes where name = $1', [name]);
  return (rows[0]!.cursor as string | null) ?? undefined;
}

/** @returns a function that does some work, and moves the cursor, in one transaction */
const inTransactions =
  (client: Transaction, name: string) =>
  async (from: string | undefined, to: string | undefined, work: () => unknown): Promise<void> => {
    await client.query('begin');
    try {
      await work();
      // Whatever became of the lock, a change is handled once.
      const { rowCount } = await client.query(
        `update followed_changes set cursor = $3, saved_at = now()
         where name = $1 and cursor is not distinct from $2`,
        [name, from ?? null, to ?? null],
      );
      if (rowCount !== 1) throw new Error(`another process follows the changes as ${name}`);
      await client.query('commit');
    } catch (error) {
      await client.query('rollback').catch(() => {});
      throw error;
    }
  };
