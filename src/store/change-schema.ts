import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql, type Transaction } from 'kysely';
import type { Log } from '../log.ts';
import type { Tables } from './tables.ts';

// Whoever wants a table after a step that waits for it waits as well: the step must be over before the inbox
// (0.8 s) has given up, and the pause must let through what has gathered.
const lockTimeoutMs = 500;
const pauseMs = 1_000;
const pollMs = 200;
const reportEveryMs = 10_000;

// The number that Kysely's migrator takes: processes of versions that use it are waited for as well.
const turnKey = '3853314791062309107';
// lock_not_available, deadlock_detected
const taken = new Set(['55P03', '40P01']);

/** The steps of a change. Each is tried again as often as it finds a lock taken. */
export interface SchemaChange {
  /** Runs a step in a transaction, so that it happens as a whole or not at all. */
  transaction: <T>(name: string, step: (trx: Transaction<Tables>) => Promise<T>) => Promise<T>;
  /**
   * Runs a statement outside of a transaction, such as `create index concurrently`. It must be safe to repeat,
   * and it may wait for others as long as it likes: nobody waits behind such a statement.
   */
  statement: (name: string, text: string) => Promise<unknown>;
}

/**
 * Changes the schema while callbacks are taken in. One process at a time does so; others wait for it.
 *
 * @param db with two connections at least
 * @param log told every ten seconds whom the change waits for
 * @throws the error of a step
 */
export async function changeSchema<T>(
  db: Kysely<Tables>,
  log: Pick<Log, 'warn'>,
  work: (change: SchemaChange) => Promise<T>,
): Promise<T> {
  // Not in a transaction: `create index concurrently` would wait for one.
  return db.connection().execute(async (turn) => {
    const watch = watcher(turn, log);
    await takeTurn(turn, log);
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
      await sql`select pg_advisory_unlock(${turnKey}::bigint)`
        .execute(turn)
        // It ended with its connection.
        .catch((error) => log.warn({ err: error }, 'the turn to change the schema was lost'));
    }
  });
}

async function repeat<T>(attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!taken.has((error as { code?: string }).code ?? '')) throw error;
    }
    await sleep(pauseMs);
  }
}

/** Returns a function that runs a step, and meanwhile logs whom its session waits for. */
function watcher(turn: Kysely<Tables>, log: Pick<Log, 'warn'>) {
  let reported = Number.NEGATIVE_INFINITY;
  const report = async (change: string, pid: number) => {
    if (performance.now() - reported < reportEveryMs) return;
    try {
      const { rows: sessions } = await sql`
        select pid, usename as "user", application_name as application, state, xact_start as since
        from pg_stat_activity where pid = any(pg_blocking_pids(${pid}))`.execute(turn);
      if (sessions.length === 0) return;
      log.warn({ change, sessions }, 'a change of the schema waits for other sessions');
    } catch (error) {
      log.warn({ err: error, change }, 'whom a change of the schema waits for could not be read');
    }
    reported = performance.now();
  };
  return async <T>(name: string, session: Kysely<Tables>, step: () => Promise<T>): Promise<T> => {
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

async function takeTurn(session: Kysely<Tables>, log: Pick<Log, 'warn'>): Promise<void> {
  for (let reported = Number.NEGATIVE_INFINITY; ; await sleep(pollMs)) {
    const { rows } = await sql<{ mine: boolean }>`
      select pg_try_advisory_lock(${turnKey}::bigint) as mine`.execute(session);
    if (rows[0]!.mine) return;
    if (performance.now() - reported < reportEveryMs) continue;
    log.warn({}, 'another process changes the schema; it is waited for');
    reported = performance.now();
  }
}
