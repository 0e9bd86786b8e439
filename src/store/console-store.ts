import type { Log } from '../common/log.ts';
import type { Config } from '../config/config.ts';
import type { PoolSizes } from '../config/pool-sizes.ts';
import { openDatabase } from './database.ts';

export type ConsoleStore = ReturnType<typeof openStore>;

export interface StoreOptions {
  config: Pick<Config, 'reportTimezone' | 'pageTimeoutMs' | 'timeLimits'>;
  databaseUrl: string;
  connections: Pick<PoolSizes, 'pages' | 'downloads'>;
  log: Log;
}

// After these, the server cancels a statement.
const pageStatementMs = 5_000;
const downloadStatementMs = 15 * 60_000;

/** The console's connections: separate ones, so that the console takes none from callbacks. */
export function openStore({ config, databaseUrl, connections, log }: StoreOptions) {
  const { reportTimezone, pageTimeoutMs } = config;
  const open = (name: string, size: number, statementMs: number, queryTimeoutMs?: number) =>
    openDatabase(databaseUrl, log, {
      connections: size,
      name,
      connectTimeoutMs: config.timeLimits.databaseMs,
      ...(queryTimeoutMs && { queryTimeoutMs }),
      settings: { statement_timeout: statementMs, TimeZone: reportTimezone },
    });
  const pages = open('receiver console', connections.pages, pageStatementMs, pageTimeoutMs);
  const downloads = open('receiver download', connections.downloads, downloadStatementMs);
  return {
    /** For pages: no statement takes longer than a few seconds. */
    db: pages.db,
    /** For downloads, which may take minutes. */
    downloadPool: downloads.pool,
    /** The same, for what is done to a patient's data. */
    downloadDb: downloads.db,
    close: async () => {
      await Promise.all([pages.close(), downloads.close()]);
    },
  };
}
