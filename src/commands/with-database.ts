import { hostname, userInfo } from 'node:os';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { createLog, type Log } from '../common/log.ts';
import { type Config, type Environment, parseConfig } from '../config/config.ts';
import { families } from '../families/index.ts';
import { type Access, type Actor, copyEntriesTo, logAccess } from '../privacy/log/access-log.ts';
import { type Database, openDatabase } from '../store/database.ts';
import { startEmbeddedPostgres } from '../store/embedded/index.ts';
import { hasDatabase } from '../store/embedded/place.ts';
import { withVariable } from '../store/explain-connection.ts';
import { isReadOnly } from '../store/faults.ts';
import type { Db } from '../store/tables.ts';

/** Adds a command, or a group of them, to the command line. */
export type AddCommand = (program: Command, env: Environment) => void;

export interface Opened extends Pick<Database, 'db' | 'pool' | 'url'> {
  config: Config;
  log: Log;
}

/** The action of a command that works on the receiver's database, see `withDatabase`. */
export const onDatabase =
  <Given extends unknown[]>(env: Environment, run: (opened: Opened, ...given: Given) => Promise<void>) =>
  (...given: Given): Promise<void> =>
    withDatabase(env, (opened) => run(opened, ...given));

/**
 * Runs a command on the receiver's database: that of DATABASE_URL, or the embedded one, which is started for the command
 * unless it is running.
 *
 * @param options `create`: creates the embedded database where there is none
 * @throws Error where there is no database
 */
export async function withDatabase<T>(
  env: Environment,
  run: (opened: Opened) => Promise<T>,
  options: { create?: boolean } = {},
): Promise<T> {
  const config = parseConfig({ LOG_LEVEL: 'warn', ...env }, families);
  const log = createLog(config.logLevel);
  copyEntriesTo(log);
  if (!config.databaseUrl && !options.create && !hasDatabase(config.dataDir)) {
    throw new Error(
      `There is no database in ${resolve(config.dataDir)}. Change to the folder where the receiver was started, or set ` +
        'DATA_DIR or DATABASE_URL. `receiver start` creates a database here',
    );
  }
  const embedded = config.databaseUrl ? undefined : await startEmbeddedPostgres(config.dataDir, log);
  const database = openDatabase(embedded?.url ?? config.databaseUrl!, log, {
    connections: 3,
    name: 'receiver command',
  });
  try {
    return await run({ ...database, config, log });
  } catch (error) {
    throw config.databaseUrl ? withVariable(error, 'DATABASE_URL', config.databaseUrl) : error;
  } finally {
    await database.close();
    await embedded?.stop();
  }
}

/** The actor of a command: the user of the operating system. */
export function commandActor(): Actor {
  return { id: `command:${userName()}`, address: hostname() };
}

/** A container may run as a user without a name: then `uid 1000`. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/**
 * Adds an entry of this command to the access log; before the command shows or does anything.
 *
 * @throws Error where the log cannot be written, with what to do
 */
export async function logCommand(db: Db, access: Omit<Access, 'actor'>): Promise<void> {
  try {
    await logAccess(db, { actor: commandActor(), ...access });
  } catch (error) {
    throw new Error(`The access log could not be written, so nothing is shown or done${adviceOn(error)}`, {
      cause: error,
    });
  }
}

function adviceOn(error: unknown): string {
  if (isReadOnly(error)) return '; connect to the primary: this server is a standby, or set read-only';
  // undefined_function: a database of a former version, or none of ours
  if ((error as { code?: string }).code === '42883') return '; run `receiver migrate` first';
  return '';
}
