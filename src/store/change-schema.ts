import { setTimeout as sleep } from 'node:timers/promises';
import { sql, type Transaction } from 'kysely';
import type { Log } from '../common/log.ts';
import { hasCode, isLocked } from './faults.ts';
import { createLeases, type Lease } from './lease.ts';
import type { Db, Tables } from './tables.ts';

// Statements queue behind a step that waits for a table lock. The step must time out before the inbox does (0.8 s),
// and the pause must let the queued statements run.
const lockTimeoutMs = 500;
const pauseMs = 1_000;
const pollMs = 200;
const reportEveryMs = 10_000;

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
 * Changes the schema while callbacks are received. A lease lets one process do so at a time; what another one had begun is not committed.
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
  await provideLeases(db);
  // A process of an older version, which is starting, is not known yet.
  const leases = createLeases(db, { besideOlder: true });
  let reported = Number.NEGATIVE_INFINITY;
  for (;;) {
    const done = await leases.run('schema', async (lease) => ({
      result: await work(createChange(db, log, lease)),
    }));
    if (done) return done.result;
    if (performance.now() - reported > reportEveryMs) {
      log.warn({}, 'waiting for another process that changes the schema');
      reported = performance.now();
    }
    await sleep(pollMs);
  }
}

function createChange(db: Db, log: Pick<Log, 'warn'>, lease: Lease): SchemaChange {
  const watch = watcher(db, log);
  const repeat = async <T>(attempt: () => Promise<T>): Promise<T> => {
    for (;;) {
      lease.signal.throwIfAborted();
      try {
        return await attempt();
      } catch (error) {
        if (!isLocked(error)) throw error;
      }
      await sleep(pauseMs);
    }
  };
  return {
    transaction: (name, step) =>
      repeat(() =>
        db.transaction().execute(async (trx) => {
          await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(trx);
          return watch(name, trx, async () => {
            const result = await step(trx);
            await lease.fence(trx);
            return result;
          });
        }),
      ),
    statement: (name, text) =>
      repeat(() =>
        db.connection().execute((session) => watch(name, session, () => sql.raw(text).execute(session))),
      ),
  };
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
 * Creates the schema, and the tables without which no process can take a lease, so also that to create them. Another process
 * may create them at the same time.
 *
 * @throws the database's error
 */
async function provideLeases(db: Db): Promise<void> {
  const { rows } = await sql<{ schema: string; isMissing: boolean; found: boolean }>`
    select current_setting('search_path') as schema, current_schema() is null as "isMissing",
           (select count(to_regclass(name)) = 2 from unnest(array['leases', 'lease_tokens']) as name) as found`.execute(
    db,
  );
  const { schema, isMissing, found } = rows[0]!;
  if (found) return;
  const create = [
    ...(isMissing ? [sql`create schema if not exists ${sql.id(schema)}`] : []),
    sql`create table if not exists leases (name text primary key, holder uuid not null, until timestamptz not null)`,
    sql`create table if not exists lease_tokens (name text primary key, token bigint not null default 0)`,
  ];
  for (const statement of create)
    await statement.execute(db).catch((error) => {
      if (!['23505', '42P06', '42P07', '42710'].some((code) => hasCode(error, code))) throw error;
    });
}
