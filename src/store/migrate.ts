import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Kysely, sql, type Transaction } from 'kysely';
import { InvalidConfiguration } from '../config.ts';
import { createLog, type Log } from '../log.ts';
import { changeSchema, type SchemaChange } from './change-schema.ts';
import { requireUtf8 } from './encoding.ts';
import type { Tables } from './tables.ts';

const ownFolder = join(import.meta.dirname, '../../db/migrations');

interface Migration {
  name: string;
  text: string;
}

/**
 * Brings the database's tables up to date: every file of db/migrations that it has not seen, in order, each
 * in a transaction of its own. A file whose first line is `-- no transaction` is run statement by statement;
 * each ends with a `;` at the end of a line and is safe to repeat.
 *
 * Callbacks are taken in meanwhile: a migration does not wait for a lock for longer than half a second at a
 * time. Two processes that start at once wait for each other.
 *
 * @param db with two connections at least
 * @returns the names of the migrations that were run
 * @throws InvalidConfiguration where the database's encoding is not UTF8; the database's error, with the name
 *   of the migration that failed; those before it are done
 */
export async function migrate(
  db: Kysely<Tables>,
  log: Pick<Log, 'warn'> = createLog('silent'),
  folder = ownFolder,
): Promise<string[]> {
  const migrations = await readMigrations(folder);
  let at = '';
  try {
    await requireUtf8(db);
    return await changeSchema(db, log, async (change) => {
      const done = await change.transaction('the list of migrations', readDone);
      const unknown = [...done].filter((name) => !migrations.some((migration) => migration.name === name));
      if (unknown.length > 0) throw new Error(`another version has already run ${unknown.join(', ')}`);
      const due = migrations.filter(({ name }) => !done.has(name));
      for (const migration of due) {
        at = ` (${migration.name})`;
        await run(change, migration);
      }
      return due.map(({ name }) => name);
    });
  } catch (error) {
    if (error instanceof InvalidConfiguration) throw error;
    throw new Error(`The database could not be migrated${at}`, { cause: error });
  }
}

async function run(change: SchemaChange, { name, text }: Migration): Promise<void> {
  const markDone = (trx: Transaction<Tables>) =>
    sql`insert into kysely_migration (name, timestamp) values (${name}, ${new Date().toISOString()})`.execute(
      trx,
    );
  if (text.startsWith('-- no transaction\n')) {
    const statements = text.split(/;\s*$/m).filter((statement) => /^\s*[^\s-]/m.test(statement));
    for (const statement of statements) await change.statement(name, statement);
    await change.transaction(name, markDone);
  } else {
    await change.transaction(name, async (trx) => {
      await sql.raw(text).execute(trx);
      await markDone(trx);
    });
  }
}

/** The names of the migrations that were run, from the table that Kysely's migrator kept before. */
async function readDone(trx: Transaction<Tables>): Promise<Set<string>> {
  const { rows } = await sql<{ there: boolean }>`
    select to_regclass('kysely_migration') is not null as there`.execute(trx);
  if (!rows[0]!.there) {
    await sql`
      create table kysely_migration (name varchar(255) primary key, timestamp varchar(255) not null)`.execute(
      trx,
    );
  }
  const done = await sql<{ name: string }>`select name from kysely_migration`.execute(trx);
  return new Set(done.rows.map(({ name }) => name));
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  return Promise.all(
    files.map(async (file) => ({
      name: file.replace(/\.sql$/, ''),
      text: await readFile(join(folder, file), 'utf8'),
    })),
  );
}
