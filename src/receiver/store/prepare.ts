import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { Family } from '../../callbacks/families/family.ts';
import type { Config } from '../../common/config/config.ts';
import { errorLogger, type Log } from '../../common/log.ts';
import { pause } from '../../common/timeouts.ts';
import { faultOf } from './errors.ts';
import { migrate } from './migrate.ts';
import { openPool } from './pools.ts';
import type { Tables } from './tables.ts';

const retryMs = 1_000;

interface PrepareOptions {
  config: Config;
  /** Where there is no DIRECT_DATABASE_URL. */
  databaseUrl: string;
  families: readonly Family[];
  /** Until it is aborted, an outage delays the tables and not the start, if Redis takes callbacks. Default: it is an error. */
  signal?: AbortSignal;
  log: Log;
}

/** Makes or updates the tables. @throws the database's error, unless it is an outage and can wait */
export async function prepare(options: PrepareOptions): Promise<void> {
  const { config, signal, log } = options;
  try {
    await makeTables(options);
  } catch (error) {
    const takesCallbacks = config.redisUrl !== undefined && config.redisFallback !== 'off';
    if (!signal || !takesCallbacks || !isOutage(error)) throw error;
    log.error({ err: error }, 'PostgreSQL is unavailable; its tables are made or updated later');
    void retry(options, signal);
  }
}

async function retry(options: PrepareOptions, signal: AbortSignal): Promise<void> {
  const message = 'the tables could not be made or updated; it is tried again';
  const report = errorLogger(options.log, 'error', message);
  for (;;) {
    await pause(retryMs, signal);
    if (signal.aborted) return;
    try {
      return void (await makeTables(options));
    } catch (error) {
      // Tried again whatever it is: callbacks are safe meanwhile, and a person may be mending it.
      if (!isOutage(error)) report(error);
    }
  }
}

/** The error of a step has it as its cause. */
function isOutage(error: unknown): boolean {
  const cause = (error as Error).cause ?? error;
  // Names and passwords are outages once the receiver runs: a person may be changing them.
  const isWrongAddress = cause instanceof pg.DatabaseError && /^(28|3D)/.test(cause.code!);
  return faultOf(cause) === 'outage' && !isWrongAddress;
}

/** @returns the names of what was made or updated */
export async function makeTables({ config, databaseUrl, families, log }: PrepareOptions): Promise<string[]> {
  const size = { connections: 2, connectTimeoutMs: config.times.databaseMs };
  const url = config.directDatabaseUrl ?? databaseUrl;
  const pool = openPool(url, log, { name: 'receiver migration', ...size });
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  try {
    const made = await migrate(db, families, log, config.reportTimezone);
    if (made.length > 0) log.info({ made }, 'tables made or updated');
    return made;
  } finally {
    await db.destroy();
  }
}
