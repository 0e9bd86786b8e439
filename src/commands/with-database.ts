import { type Config, parseConfig } from '../config.ts';
import { families } from '../families/index.ts';
import { createLog, type Log } from '../log.ts';
import { type Database, openDatabase } from '../store/database.ts';
import { startEmbeddedPostgres } from '../store/embedded/index.ts';
import type { Environment } from './environment.ts';

/**
 * Runs a command on the service's database: the one of DATABASE_URL, or the embedded one, which is started
 * for as long as the command runs unless the service has it running already.
 */
export async function withDatabase<T>(
  env: Environment,
  run: (parts: { config: Config; database: Database; log: Log }) => Promise<T>,
): Promise<T> {
  const config = parseConfig({ LOG_LEVEL: 'warn', ...env }, families);
  const log = createLog(config.logLevel);
  const embedded = config.databaseUrl ? undefined : await startEmbeddedPostgres(config.dataDir, log);
  const database = openDatabase(embedded?.url ?? config.databaseUrl!, log, {
    connections: 2,
    name: 'receiver command',
  });
  try {
    return await run({ config, database, log });
  } finally {
    await database.close();
    await embedded?.stop();
  }
}
