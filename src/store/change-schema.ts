import { setTimeout as sleep } from 'node:timers/promises';
import { type ControlledTransaction, sql, type Transaction } from 'kysely';
import type { Log } from '../common/log.ts';
import { lockKey } from './advisory-lock.ts';
import { isLocked } from './faults.ts';
import type { Db, Tables } from './tables.ts';

// Statements queue behind a step that waits for a table lock. The step must time out before the inbox does (0.8 s),
// and the pause must let the queued statements run.
const lockTimeoutMs = 500;
const pauseMs = 1_000;
const pollMs = 200;
const reportEveryMs = 10_000;

const lock = lockKey('schema');

/** The steps of a change. Each is retried until it gets its locks. */
export interface SchemaChange {
  /** Runs a step in a transaction. */
  transaction: <T>(name: string, step: (trx: Transaction<Tables>) => Promise<T>) => Promise<T>;
  /**
   * Runs a statement outside of a transaction, such as `create index concurrently`. It must be safe to repeat. It has
   * no lock timeout, because other statements do not queue behind it.
   */
  statement: (name: string, text: string) => Promise<unknown>;
}

/**
 * Changes the schema while callbacks are received. An advisory lock lets one process do so at a time.
 *
 * @param db with at least three connections
 * @param log logs every ten seconds which sessions block the change
 * @throws the error of a step
 */
export async function changeSchema<T>(
  db: Db,
  log: Pick<Log, 'warn'>,
  work: (change: SchemaChange) => Promise<T>,
): Promise<T> {
  const watch = watcher(db, log);
  const turn = await takeTurn(db, log);
  try {
    return await work({
      transaction: (name, step) =>
        repeat(() =>
          db.transaction().execute(async (trx) => {
            await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(trx);
            return watch(name, trx, () => step(trx));
          }),
        ),
      statement: (name, text) =>
        repeat(() =>
          db.connection().execute((session) => watch(name, session, () => sql.raw(text).execute(session))),
        ),
    });
  } finally {
    await turn
      .rollback()
      .execute()
      // The lock ended with its connection.
      .catch((error) => log.warn({ err: error }, 'the lock for schema changes was lost'));
  }
}

async function repeat<T>(attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isLocked(error)) throw error;
    }
    await sleep(pauseMs);
  }
}

/** Returns a function that runs a step and logs the sessions that block it. */
function watcher(observer: Db, log: Pick<Log, 'warn'>) {
  let reported = Number.NEGATIVE_INFINITY;
  const report = async (change: string, pid: number) => {
    if (performance.now() - reported < reportEveryMs) return;
    try {
      const { rows: sessions } = await sql`
        select pid, usename as "user", application_name as application, state, xact_start as since
        from pg_stat_activity where pid = any(pg_blocking_pids(${pid}))`.execute(observer);
      if (sessions.length === 0) return;
      log.warn({ change, sessions }, 'a schema change is blocked by other sessions');
    } catch (error) {
      log.warn({ err: error, change }, 'the sessions that block a schema change could not be read');
    }
    reported = performance.now();
  };
  return async <T>(name: string, session: Db, step: () => Promise<T>): Promise<T> => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(session);
    let reporting = Promise.resolve();
    const timer = setInterval(() => {
      reporting = reporting.then(() => report(name, rows[0]!.pid));
    }, pollMs);
    try {
      return await step();
    } finally {
      clearInterval(timer);
      await reporting;
    }
  };
}

/**
 * The lock belongs to an open transaction, because a connection pooler may give each transaction another session. It has
 * no snapshot, for whose end `create index concurrently` would wait: nothing else runs in it, and a statement with
 * parameters would keep its own.
 */
async function takeTurn(db: Db, log: Pick<Log, 'warn'>): Promise<ControlledTransaction<Tables>> {
  for (let reported = Number.NEGATIVE_INFINITY; ; await sleep(pollMs)) {
    const trx = await db.startTransaction().setIsolationLevel('read committed').execute();
    let isMine = false;
    try {
      const { rows } = await sql<{ mine: boolean }>`
        select pg_try_advisory_xact_lock(${lock}) as mine`.execute(trx);
      isMine = rows[0]!.mine;
      if (isMine) return trx;
    } finally {
      // Returns the connection, also a broken one: a pool with one that is missing never closes.
      if (!isMine)
        await trx
          .rollback()
          .execute()
          .catch(() => {});
    }
    if (performance.now() - reported < reportEveryMs) continue;
    log.warn({}, 'waiting for another process that changes the schema');
    reported = performance.now();
  }
}
