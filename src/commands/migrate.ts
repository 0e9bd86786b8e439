import type { Command } from 'commander';
import type { Environment } from '../config/config.ts';
import { print } from './output.ts';
import type { ServiceModule } from './start.ts';
import { type Opened, withDatabase } from './with-database.ts';

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
      const update = async ({ config, url, log }: Opened) => {
        const { migrations } = await prepareTables(config.directDatabaseUrl ?? url, config, log);
        print(migrations.length > 0 ? `Ran ${migrations.join(', ')}.` : 'Nothing to do.');
      };
      await withDatabase(env, update, { create: true });
    });
}
