import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Config } from './config.ts';
import { type Log, sparingly } from './log.ts';
import { prepareQueueTables } from './queue/postgres-backend.ts';
import { checkTimezone } from './reporting/check-timezone.ts';
import { applyReportPaths } from './reporting/paths.ts';
import { applyReportTimezone } from './reporting/timezone.ts';
import { openDatabase } from './store/database.ts';
import { isReadOnly, isUnavailable } from './store/faults.ts';
import { migrate } from './store/migrate.ts';

const retryMs = 1_000;

export interface Preparation {
  /** Resolves with the database's id once it is up to date; never where that was given up. */
  databaseId: Promise<string>;
  /** Gives up. */
  stop: () => Promise<void>;
}

/**
 * Brings the database up to date. Where PostgreSQL is unavailable and Redis is configured, this happens once PostgreSQL
 * is available again, so that a receiver that starts in an outage accepts callbacks nevertheless.
 *
 * @throws the database's error
 */
export async function prepareDatabase(url: string, config: Config, log: Log): Promise<Preparation> {
  try {
    return { databaseId: Promise.resolve(await prepare(url, config, log)), stop: async () => {} };
  } catch (error) {
    // A standby may be promoted any moment.
    if (!config.redisUrl || !(isUnavailable(error) || isReadOnly(error))) throw error;
    log.error({ err: error }, 'PostgreSQL is unavailable; the database is prepared later');
  }
  const stopping = new AbortController();
  const prepared = prepareOnceBack(url, config, log, stopping.signal);
  const databaseId = prepared.then((id) => id ?? new Promise<never>(() => {}));
  return {
    databaseId,
    stop: async () => {
      stopping.abort();
      await prepared;
    },
  };
}

async function prepareOnceBack(
  url: string,
  config: Config,
  log: Log,
  signal: AbortSignal,
): Promise<string | undefined> {
  const report = sparingly((more, err) =>
    log.error({ err, ...more }, 'the database could not be prepared; it is tried again'),
  );
  for (;;) {
    await sleep(retryMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return undefined;
    try {
      return await prepare(url, config, log);
    } catch (error) {
      // Whatever it is by now, the callbacks are safe in Redis, and somebody may be at work on it.
      if (!isUnavailable(error)) report(error);
    }
  }
}

/** On a connection of its own: a migration may take longer than any other query. */
async function prepare(url: string, config: Config, log: Log): Promise<string> {
  const { db, close } = openDatabase(url, log, { connections: 2, name: 'receiver migration' });
  try {
    const migrations = await migrate(db, log);
    if (migrations.length > 0) log.info({ migrations }, 'the database was migrated');
    if (!config.redisUrl) await prepareQueueTables(url);
    await checkTimezone(db, config.reportTimezone);
    await applyReportTimezone(db, config.reportTimezone, log);
    await applyReportPaths(db, config.paths);
    const { rows } = await sql<{ id: string }>`select id from database_identity`.execute(db);
    return rows[0]!.id;
  } catch (error) {
    if (!isReadOnly(error)) throw error;
    throw new Error('The server of DATABASE_URL takes no writes: it is a standby, or set read-only', {
      cause: error,
    });
  } finally {
    await close();
  }
}
