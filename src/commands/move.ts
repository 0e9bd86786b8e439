import { resolve } from 'node:path';
import type pg from 'pg';
import { keepEpoch } from '../changes/open-feed.ts';
import { createLog } from '../common/log.ts';
import { print, withProgress } from '../common/output.ts';
import { printable } from '../common/printable.ts';
import { type Environment, parseConfig } from '../config/config.ts';
import { families } from '../families/index.ts';
import { copyDatabase } from '../store/copy-database.ts';
import { openDatabase } from '../store/database.ts';
import { startToMove } from '../store/embedded/index.ts';
import { markMoved } from '../store/embedded/moved.ts';
import { hasDatabase } from '../store/embedded/place.ts';
import { migrate } from '../store/migrate.ts';
import { withClient } from '../store/pool.ts';
import { type AddCommand, logCommand } from './with-database.ts';

/** `receiver move`: copies the embedded database to a server, which the receiver uses from then on. */
export const addMoveCommand: AddCommand = (program, env) => {
  program
    .command('move')
    .description(
      'move the embedded database to a PostgreSQL server; stop the receiver first (see docs/backup.md)',
    )
    .requiredOption('--to <url>', 'an empty database, as for DATABASE_URL')
    .action(({ to }: { to: string }) => move(env, to));
};

async function move(env: Environment, to: string): Promise<void> {
  const config = parseConfig({ LOG_LEVEL: 'warn', ...env, DATABASE_URL: to }, families);
  const { dataDir } = config;
  if (!hasDatabase(dataDir)) throw new Error(`There is no embedded database in ${resolve(dataDir)}`);
  const log = createLog(config.logLevel);
  const server = await startToMove(dataDir, log);
  const options = {
    connections: 3,
    name: 'receiver move',
    settings: { default_transaction_read_only: 'off' },
  };
  const source = openDatabase(server.url, log, options);
  const target = openDatabase(to, log, options);
  const shown = printable(withoutPassword(to));
  try {
    for (const { db } of [source, target]) await migrate(db, log);
    const { rows, tables, leftOut, wasThere } = await withProgress('rows copied', undefined, (progress) => {
      const copy = (from: pg.Client, into: pg.Client) =>
        copyDatabase(from, into, {
          beforeCopy: async () => {
            await logCommand(source.db, { action: 'move', filter: {} });
            await keepEpoch(source.db);
          },
          onTotal: progress.setTotal,
          onRows: progress.advance,
          beforeCommit: () => markMoved(server.home, shown),
        });
      return withClient(server.url, (from) => withClient(to, (into) => copy(from, into)));
    });
    const others =
      leftOut.length > 0 ? `Left out, because the receiver does not know them: ${leftOut.join(', ')}.\n` : '';
    print(
      `${wasThere ? 'It was there already' : 'Copied'}: ${rows} rows of ${tables} tables, equal on both sides.\n${printable(others)}` +
        `Set DATABASE_URL to ${shown}, with its password, and start the service. The former files stay in ${resolve(dataDir)}.`,
    );
  } finally {
    await source.close();
    await target.close();
    await server.stop();
  }
}

/** A connection string without what may be its password. */
const withoutPassword = (url: string) =>
  url.replace(/(:\/\/[^:@/]*):.*@/, '$1@').replace(/([?&]password=)[^&]*/, '$1…');
