import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql, type Transaction } from 'kysely';
import type { Log } from '../log.ts';
import type { Tables } from './tables.ts';

// Statements queue behind a step that waits for a table lock. The step must time out before the inbox does (0.8 s),
// and the pause must let the queued statements run.
const lockTimeoutMs = 500;
const pauseMs = 1_000;
const pollMs = 200;
const reportEveryMs = 10_000;

// The same number as Kysely's migrator, so that migrations by older versions are waited for too.
const turnKey = '3853314791062309107';
// lock_not_available, deadlock_detected
const taken = new Set(['55P03', '40P01']);

/**
 * Changes the schema while callbacks are received. An advisory lock lets one process do so at a time.
 *
 * @param db with at least two connections
 * @param log logs every ten seconds which sessions block the change
 * @throws the error of a step
 */
export async function changeSchema<T>(
  db: Kysely<Tables>,
  log: Pick<Log, 'warn'>,
  work: (change: SchemaChange) => Promise<T>,
): Promise<T> {
  // Not in a transaction: `create index concurrently` would wait for one.
  return db.connection().execute(async (turn) => {
    await takeTurn(turn, log);
    try {
      return await work(new SchemaChange(db, turn, log));
    } finally {
      await sql`select pg_advisory_unlock(${turnKey}::bigint)`
        .execute(turn)
        // The lock ended with its connection.
        .catch((error) => log.warn({ err: error }, 'the lock for schema changes was lost'));
    }
  });
}

/** The steps of a change. Each is retried until it gets its locks. */
export class SchemaChange {
  private readonly db: Kysely<Tables>;
  private readonly turn: Kysely<Tables>;
  private readonly log: Pick<Log, 'warn'>;
  private reported = Number.NEGATIVE_INFINITY;

  constructor(db: Kysely<Tables>, turn: Kysely<Tables>, log: Pick<Log, 'warn'>) {
    this.db = db;
    this.turn = turn;
    this.log = log;
  }

  /** Runs a step in a transaction. */
  transaction<T>(name: string, step: (trx: Transaction<Tables>) => Promise<T>): Promise<T> {
    return this.repeat(() =>
      this.db.transaction().execute(async (trx) => {
        await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(trx);
        return this.watch(name, trx, () => step(trx));
      }),
    );
  }

  /**
   * Runs a statement outside of a transaction, such as `create index concurrently`. It must be safe to repeat. It has
   * no lock timeout, because other statements do not queue behind it.
   */
  async statement(name: string, text: string): Promise<void> {
    await this.repeat(() =>
      this.db
        .connection()
        .execute((session) => this.watch(name, session, () => sql.raw(text).execute(session))),
    );
  }

  private async repeat<T>(attempt: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (!taken.has((error as { code?: string }).code ?? '')) throw error;
      }
      await sleep(pauseMs);
    }
  }

  private async watch<T>(name: string, session: Kysely<Tables>, step: () => Promise<T>): Promise<T> {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(session);
    let reporting = Promise.resolve();
    const timer = setInterval(() => {
      reporting = reporting.then(() => this.report(name, rows[0]!.pid));
    }, pollMs);
    try {
      return await step();
    } finally {
      clearInterval(timer);
      await reporting;
    }
  }

  private async report(change: string, pid: number): Promise<void> {
    if (performance.now() - this.reported < reportEveryMs) return;
    try {
      const { rows: sessions } = await sql`
        select pid, usename as "user", application_name as application, state, xact_start as since
        from pg_stat_activity where pid = any(pg_blocking_pids(${pid}))`.execute(this.turn);
      if (sessions.length === 0) return;
      this.log.warn({ change, sessions }, 'a schema change is blocked by other sessions');
    } catch (error) {
      this.log.warn({ err: error, change }, 'the sessions that block a schema change could not be read');
    }
    this.reported = performance.now();
  }
}

async function takeTurn(session: Kysely<Tables>, log: Pick<Log, 'warn'>): Promise<void> {
  for (let reported = Number.NEGATIVE_INFINITY; ; await sleep(pollMs)) {
    const { rows } = await sql<{ mine: boolean }>`
      select pg_try_advisory_lock(${turnKey}::bigint) as mine`.execute(session);
    if (rows[0]!.mine) return;
    if (performance.now() - reported < reportEveryMs) continue;
    log.warn({}, 'waiting for another process that changes the schema');
    reported = performance.now();
  }
}
