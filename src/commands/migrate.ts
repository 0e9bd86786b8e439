import type { Command } from 'commander';
import type { Environment } from '../config/config.ts';
import type { ServiceModule } from './start.ts';
import { withDatabase } from './with-database.ts';

/** `receiver migrate`: updates the tables of the database, as `start` does. */
export function addMigrateCommand(
  program: Command,
  env: Environment,
  load: () => Promise<Pick<ServiceModule, 'prepareTables'>>,
): void {
  program
    .command('migrate')
    .description('update the tables of the database (start does this, too)')
    .action(async () => {
      const { prepareTables } = await load();
      await withDatabase(
        env,
        async ({ config, database, log }) => {
          const { migrations } = await prepareTables(config.directDatabaseUrl ?? database.url, config, log);
          const done = migrations.length > 0 ? `Ran ${migrations.join(', ')}.` : 'Nothing to do.';
          process.stdout.write(`${done}\n`);
        },
        { create: true },
      );
    });
}
