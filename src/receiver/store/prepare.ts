import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { Family } from '../../callbacks/families/family.ts';
import { errorLogger, type Log } from '../../common/log.ts';
import { pause } from '../../common/timeouts.ts';
import { faultOf } from './errors.ts';
import { migrate } from './migrate.ts';
import { openPool } from './pools.ts';
import type { Tables } from './tables.ts';

const retryMs = 1_000;

interface Dependencies {
  /** Without a connection pooler, where there is such an address. */
  url: string;
  families: readonly Family[];
  /** The time zone of the days of reports. */
  timezone: string;
  connectTimeoutMs: number;
  /** Whether callbacks can be taken without the database: then an outage delays it, and not the start. */
  canWait: boolean;
  signal: AbortSignal;
  log: Log;
}

/**
 * Makes or updates the tables.
 *
 * @returns the identity of the database; pending until PostgreSQL is available, or for ever once the signal is aborted
 * @throws the database's error, unless it is an outage and can wait
 */
export async function prepare(dependencies: Dependencies): Promise<{ identity: Promise<string> }> {
  const { canWait, signal, log } = dependencies;
  try {
    return { identity: Promise.resolve(await makeTables(dependencies)) };
  } catch (error) {
    if (!canWait || !isOutage(error)) throw error;
    log.error({ err: error }, 'PostgreSQL is unavailable; its tables are made or updated later');
  }
  const report = errorLogger(log, 'error', 'the tables could not be made or updated; it is tried again');
  const retry = async () => {
    for (;;) {
      await pause(retryMs, signal);
      if (signal.aborted) return new Promise<never>(() => {});
      try {
        return await makeTables(dependencies);
      } catch (error) {
        // Tried again whatever it is: callbacks are safe meanwhile, and a person may be mending it.
        if (!isOutage(error)) report(error);
      }
    }
  };
  return { identity: retry() };
}

// Names and passwords are outages once the receiver runs: a person may be changing them.
const isWrongAddress = (error: unknown) => error instanceof pg.DatabaseError && /^(28|3D)/.test(error.code!);

/** Of a step, the cause says it. */
function isOutage(error: unknown): boolean {
  const cause = (error as Error).cause ?? error;
  return faultOf(cause) === 'outage' && !isWrongAddress(cause);
}

async function makeTables({ url, families, timezone, connectTimeoutMs, log }: Dependencies): Promise<string> {
  const pool = openPool(url, log, { name: 'receiver migration', connections: 2, connectTimeoutMs });
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  try {
    const made = await migrate(db, families, log, timezone);
    if (made.length > 0) log.info({ made }, 'tables made or updated');
    // A copy on another server, or beside its original, is another database.
    const { rows } = await pool.query<{ identity: string }>(
      `select concat_ws(' ', value, receiver.system_identifier(), oid) as identity
       from receiver.settings, pg_database where name = 'identity' and datname = current_database()`,
    );
    return rows[0]!.identity;
  } finally {
    await db.destroy();
  }
}
