import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from './config.ts';
import type { Log } from './log.ts';
import { applyReportPaths, applyReportTimezone, checkTimezone } from './reporting/index.ts';
import { openDatabase } from './store/database.ts';
import { isAway, isReadOnly } from './store/faults.ts';
import { migrate } from './store/migrate.ts';

const pauseMs = 1_000;

/**
 * Brings the database up to date. Where PostgreSQL is away and Redis can hold what comes in, this happens
 * once it is back, so that a receiver which is restarted in an outage takes callbacks all the same.
 *
 * @returns a function that gives up waiting for it
 * @throws the database's error
 */
export async function prepareDatabase(url: string, config: Config, log: Log): Promise<() => Promise<void>> {
  try {
    await prepare(url, config, log);
    return async () => {};
  } catch (error) {
    if (!config.redisUrl || !isAway(error)) throw error;
    log.error({ err: error }, 'PostgreSQL is away; its tables are looked after once it is back');
  }
  const stopping = new AbortController();
  const prepared = prepareOnceBack(url, config, log, stopping.signal);
  return () => {
    stopping.abort();
    return prepared;
  };
}

async function prepareOnceBack(url: string, config: Config, log: Log, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(pauseMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    try {
      return await prepare(url, config, log);
    } catch (error) {
      // Whatever it is by now, the callbacks are safe in Redis, and somebody may be at work on it.
      if (!isAway(error)) log.error({ err: error }, 'the database could not be prepared; it is tried again');
    }
  }
}

/** On a connection of its own: a migration may take longer than any other query. */
async function prepare(url: string, config: Config, log: Log): Promise<void> {
  const { db, close } = openDatabase(url, log, { connections: 2, name: 'receiver migration' });
  try {
    const migrations = await migrate(db, log);
    if (migrations.length > 0) log.info({ migrations }, 'the database was migrated');
    await checkTimezone(db, config.reportTimezone);
    await applyReportTimezone(db, config.reportTimezone, log);
    await applyReportPaths(db, config.paths);
  } catch (error) {
    if (!isReadOnly(error)) throw error;
    throw new Error('The server of DATABASE_URL takes no writes: it is a standby, or set read-only', {
      cause: error,
    });
  } finally {
    await close();
  }
}
