import type { Command } from 'commander';
import type { Environment } from '../config.ts';
import { prepareQueueTables } from '../queue/postgres-backend.ts';
import { migrate } from '../store/migrate.ts';
import { withDatabase } from './with-database.ts';

/** `receiver migrate`: updates the tables of the database, as `start` does. */
export function addMigrateCommand(program: Command, env: Environment): void {
  program
    .command('migrate')
    .description('update the tables of the database (start does this, too)')
    .action(() =>
      withDatabase(
        env,
        async ({ config, database, log }) => {
          const names = await migrate(database.db, log);
          if (!config.redisUrl) await prepareQueueTables(database.url);
          const done = names.length > 0 ? `Ran ${names.join(', ')}.` : 'Nothing to do.';
          process.stdout.write(`${done}\n`);
        },
        { create: true },
      ),
    );
}
