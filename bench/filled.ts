import { rmSync } from 'node:fs';
import { SingleBar } from 'cli-progress';
import { createLog, type Log } from '../src/common/log.ts';
import { type Database, openDatabase } from '../src/store/database.ts';
import { startEmbeddedPostgres } from '../src/store/embedded/index.ts';
import { migrate } from '../src/store/migrate.ts';
import type { FilledOptions } from './options.ts';
import { fill, type Volume } from './reports/fill.ts';
import { checkSpace, fillHistory } from './reports/fill-history.ts';

/** A larger cache than the server's own. */
export const cache = 'shared_buffers=1GB';

interface Filled {
  server: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
  database: Database;
  version: string;
  log: Log;
}

/** Runs on a database that is filled once, and removed afterwards unless it is to be kept. */
export async function withFilledDatabase(
  options: FilledOptions,
  volume: Volume,
  run: (filled: Filled) => Promise<void>,
  settings: readonly string[] = [],
): Promise<void> {
  const { folder, keep } = options;
  const log = createLog('warn');
  const server = await startEmbeddedPostgres(folder, log, [cache, 'max_wal_size=4GB', ...settings]);
  const database = openDatabase(server.url, log, { connections: 4, name: 'bench' });
  try {
    await migrate(database.db);
    await fillOnce(database, volume, options);
    const { rows } = await database.pool.query<{ server_version: string }>('show server_version');
    await run({ server, database, version: `${rows[0]!.server_version}, ${cache}`, log });
  } finally {
    await database.close();
    await server.stop();
    if (!keep) rmSync(folder, { recursive: true, force: true });
  }
}

async function fillOnce({ pool, db }: Database, volume: Volume, options: FilledOptions): Promise<void> {
  const { rows } = await pool.query('select from receipts limit 1');
  if (rows.length > 0) return;
  if (options.history) {
    const { businesses, bodies, folder } = options;
    const history = { receipts: volume.receipts, days: 3 * 365, businesses, bodies };
    checkSpace(folder, history);
    return fillHistory({ pool, db }, history, (line) => process.stdout.write(`${line}\n`));
  }
  const format =
    '{bar} day {value} of {total}, {done} deliveries, {duration_formatted}, {eta_formatted} left';
  const bar = new SingleBar({ format, noTTYOutput: true, notTTYSchedule: 10_000 });
  bar.start(volume.days, 0, { done: 0 });
  await fill(db, volume, (day, done) => bar.update(day, { done }));
  bar.stop();
  await pool.query('vacuum analyze');
}
