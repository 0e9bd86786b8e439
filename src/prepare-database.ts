import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Config } from './config.ts';
import { type Log, throttled } from './log.ts';
import { prepareQueueTables } from './queue/postgres-backend.ts';
import { checkTimezone } from './reporting/check-timezone.ts';
import { applyReportPaths } from './reporting/paths.ts';
import { applyReportTimezone } from './reporting/timezone.ts';
import { openDatabase } from './store/database.ts';
import { isReadOnly, isUnavailable } from './store/faults.ts';
import { migrate } from './store/migrate.ts';

const retryMs = 1_000;

export interface Preparation {
  /** Resolves with the database's id once it is migrated; stays pending after `stop`. */
  databaseId: Promise<string>;
  stop: () => Promise<void>;
}

/**
 * Migrates the database. If PostgreSQL is unavailable and Redis is configured, the migration runs once PostgreSQL is
 * available, so that a receiver that starts in an outage accepts callbacks.
 *
 * @throws the database's error
 */
export async function prepareDatabase(url: string, config: Config, log: Log): Promise<Preparation> {
  try {
    return { databaseId: Promise.resolve(await prepare(url, config, log)), stop: async () => {} };
  } catch (error) {
    // A standby may be promoted at any time.
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
  const report = throttled((more, err) =>
    log.error({ err, ...more }, 'preparation of the database failed; retrying'),
  );
  for (;;) {
    await sleep(retryMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return undefined;
    try {
      return await prepare(url, config, log);
    } catch (error) {
      // Retried whatever the error is: callbacks are safe in Redis, and an administrator may be fixing it.
      if (!isUnavailable(error)) report(error);
    }
  }
}

/** On separate connections: a migration may take longer than any other query. */
async function prepare(url: string, config: Config, log: Log): Promise<string> {
  const { db, close } = openDatabase(url, log, { connections: 2, name: 'receiver migration' });
  try {
    const migrations = await migrate(db, log);
    if (migrations.length > 0) log.info({ migrations }, 'database migrated');
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
