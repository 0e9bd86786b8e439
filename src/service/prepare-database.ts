import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { type Log, throttled } from '../common/log.ts';
import { type Config, InvalidConfiguration } from '../config/config.ts';
import { prepareQueueTables } from '../queue/postgres-backend.ts';
import { openDatabase } from '../store/database.ts';
import { withVariable } from '../store/explain-connection.ts';
import { isReadOnly, isUnavailable } from '../store/faults.ts';
import { migrate } from '../store/migrate.ts';
import { applyReportPaths, applyReportTimezone, checkTimezone } from '../store/reporting/settings.ts';
import type { Db } from '../store/tables.ts';

const retryMs = 1_000;

/**
 * Migrates the database. If PostgreSQL is unavailable and Redis is configured, the migration runs once PostgreSQL is
 * available, so that a receiver that starts in an outage accepts callbacks.
 *
 * @returns `databaseId`: resolves with the database's id once it is migrated; stays pending after `stop`
 * @throws the database's error, or InvalidConfiguration
 */
export async function prepareDatabase(url: string, config: Config, log: Log) {
  const prepare = async () => {
    const { databaseId, migrations } = await prepareTables(url, config, log);
    if (migrations.length > 0) log.info({ migrations }, 'database migrated');
    return databaseId;
  };
  try {
    return { databaseId: Promise.resolve(await prepare()), stop: async () => {} };
  } catch (error) {
    // A standby may be promoted at any time.
    if (!config.redisUrl || !(isUnavailable(error) || isReadOnly(error))) throw error;
    log.error({ err: error }, 'PostgreSQL is unavailable; the database is prepared later');
  }
  const stopping = new AbortController();
  const { signal } = stopping;
  const report = throttled((more, err) =>
    log.error({ err, ...more }, 'preparation of the database failed; retrying'),
  );
  const prepareOnceBack = async () => {
    for (;;) {
      await sleep(retryMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) return undefined;
      try {
        return await prepare();
      } catch (error) {
        // Retried whatever the error is: callbacks are safe in Redis, and an administrator may be fixing it.
        if (!isUnavailable(error)) report(error);
      }
    }
  };
  const prepared = prepareOnceBack();
  const databaseId = prepared.then((id) => id ?? new Promise<never>(() => {}));
  const stop = async () => {
    stopping.abort();
    await prepared;
  };
  return { databaseId, stop };
}

/**
 * Migrates the database, prepares the queue's tables where the queue is in PostgreSQL, and applies the configuration of
 * the reports. On separate connections: a migration may take longer than any other query.
 *
 * @param url without a connection pooler, if there is such an address
 * @returns the database's id, and the names of the migrations that ran
 * @throws the database's error, or InvalidConfiguration
 */
export async function prepareTables(url: string, config: Config, log: Log) {
  const options = { name: 'receiver migration' };
  const { db, close } = openDatabase(url, log, { connections: 3, ...options });
  try {
    const migrations = await migrate(db, log);
    if (!config.redisUrl) await prepareQueueTables(url, log);
    await checkTimezone(db, config.reportTimezone);
    await applyReportTimezone(db, config.reportTimezone, log);
    await applyReportPaths(db, config.paths);
    const databaseId = await readId(db);
    if (config.directDatabaseUrl) await requireSameDatabase(config.databaseUrl!, databaseId, options, log);
    return { databaseId, migrations };
  } catch (error) {
    const { databaseUrl, directDatabaseUrl } = config;
    const variable = url === directDatabaseUrl ? 'DIRECT_DATABASE_URL' : 'DATABASE_URL';
    if (!isReadOnly(error)) throw databaseUrl ? withVariable(error, variable, url) : error;
    throw new Error('The server of DATABASE_URL takes no writes: it is a standby, or set read-only', {
      cause: error,
    });
  } finally {
    await close();
  }
}

/** The id of a database with the receiver's tables. */
export async function readId(db: Db): Promise<string> {
  const { rows } = await sql<{ id: string }>`select id from database_identity`.execute(db);
  return rows[0]!.id;
}

/** @throws InvalidConfiguration where the address of the pooler leads to another database than the direct one */
export async function requireSameDatabase(
  url: string,
  id: string,
  options: { name: string },
  log: Log,
): Promise<void> {
  const pooled = openDatabase(url, log, { connections: 1, ...options });
  try {
    if ((await readId(pooled.db)) === id) return;
  } catch (error) {
    throw withVariable(error, 'DATABASE_URL', url);
  } finally {
    await pooled.close();
  }
  throw new InvalidConfiguration([
    'DIRECT_DATABASE_URL and DATABASE_URL lead to different databases; they must be two addresses of the same',
  ]);
}
