import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Kysely, Migrator, sql } from 'kysely';
import type { Tables } from './tables.ts';

const folder = join(import.meta.dirname, '../../db/migrations');

/**
 * Brings the database's tables up to date: every file of db/migrations that it has not seen, in order, in
 * one transaction. Two processes that start at once wait for each other.
 *
 * @returns the names of the migrations that were run
 * @throws the database's error, with the name of the migration that failed
 */
export async function migrate(db: Kysely<Tables>): Promise<string[]> {
  const migrator = new Migrator({ db, provider: { getMigrations: readMigrations } });
  const { error, results = [] } = await migrator.migrateToLatest();
  if (error) {
    const failed = results.find((result) => result.status === 'Error')?.migrationName;
    throw new Error(`The database could not be migrated${failed ? ` (${failed})` : ''}`, { cause: error });
  }
  return results.map((result) => result.migrationName);
}

async function readMigrations() {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  return Object.fromEntries(
    files.map((file) => [
      file.replace(/\.sql$/, ''),
      {
        up: async (db: Kysely<unknown>) => {
          await sql.raw(await readFile(join(folder, file), 'utf8')).execute(db);
        },
      },
    ]),
  );
}
