import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Kysely, sql, type Transaction } from 'kysely';
import { InvalidConfiguration } from '../config.ts';
import { createLog, type Log } from '../log.ts';
import { changeSchema, type SchemaChange } from './change-schema.ts';
import { applyReporting, reporting, type SqlFile, withoutViewsInTheWay } from './repeatable-migrations.ts';
import type { Tables } from './tables.ts';

const ownFolder = join(import.meta.dirname, '../../db');

/**
 * Migrates the database: runs the new files of db/migrations in order, each in its own transaction, then the views and
 * functions of db/reporting if they have changed. A migration whose first line is `-- no transaction` runs statement
 * by statement; each ends with a `;` at the end of a line and is safe to repeat.
 *
 * Callbacks are accepted meanwhile: a migration waits for a lock for at most half a second at a time. Only one process
 * migrates at a time.
 *
 * @param db with at least two connections
 * @returns the names of the migrations that ran, and `reporting` if its files ran
 * @throws InvalidConfiguration if the database's encoding is not UTF8; the database's error, with the name of the
 *   migration that failed; earlier migrations stay
 */
export async function migrate(
  db: Kysely<Tables>,
  log: Pick<Log, 'warn'> = createLog('silent'),
  folder = ownFolder,
): Promise<string[]> {
  const migrations = await readSqlFiles(join(folder, 'migrations'));
  const views = await readSqlFiles(join(folder, 'reporting'));
  let at = '';
  try {
    await requireUtf8(db);
    return await changeSchema(db, log, async (change) => {
      const done = await change.transaction('the list of migrations', readDone);
      const known = new Set([...migrations.map(({ name }) => name), reporting]);
      const unknown = [...done.keys()].filter((name) => !known.has(name));
      if (unknown.length > 0) {
        throw new Error(
          `a newer version of the service has run ${unknown.join(', ')}; start that version or a later one`,
        );
      }
      const ran = [];
      for (const migration of migrations.filter(({ name }) => !done.has(name))) {
        at = ` (${migration.name})`;
        await run(change, migration, views);
        ran.push(migration.name);
      }
      // Of the migrations too: views may show every column of a table.
      const checksum = checksumOf([...migrations, ...views, await readPlace(db)]);
      if (done.get(reporting) !== checksum) {
        at = ` (${reporting})`;
        await applyReporting(change, views, checksum);
        ran.push(reporting);
      }
      return ran;
    });
  } catch (error) {
    if (error instanceof InvalidConfiguration) throw error;
    throw new Error(`The database could not be migrated${at}`, { cause: error });
  }
}

/**
 * Requires a database that can store every character: callbacks contain text in any script.
 *
 * @throws InvalidConfiguration where its encoding is not UTF8
 */
async function requireUtf8(db: Kysely<Tables>): Promise<void> {
  const { rows } = await sql<{ encoding: string; name: string }>`
    select current_setting('server_encoding') as encoding, quote_ident(current_database()) as name`.execute(
    db,
  );
  const { encoding, name } = rows[0]!;
  if (encoding === 'UTF8') return;
  throw new InvalidConfiguration([
    `DATABASE_URL leads to a database whose encoding is ${encoding}; it must be UTF8. Create another: ` +
      `create database ${name}_utf8 encoding 'UTF8' template template0`.replace('"_utf8', '_utf8"'),
  ]);
}

async function run(change: SchemaChange, { name, text }: SqlFile, views: SqlFile[]): Promise<void> {
  const markDone = (trx: Transaction<Tables>) =>
    sql`insert into receiver_migrations (name) values (${name})`.execute(trx);
  if (text.startsWith('-- no transaction\n')) {
    const statements = text.split(/;\s*$/m).filter((statement) => /^\s*[^\s-]/m.test(statement));
    for (const statement of statements) await change.statement(name, statement);
    await change.transaction(name, markDone);
  } else {
    await withoutViewsInTheWay(change, name, views, async (trx) => {
      await sql.raw(text).execute(trx);
      await markDone(trx);
    });
  }
}

/** The migrations that ran, with their checksums; `reporting` is the entry of the views and functions. */
async function readDone(trx: Transaction<Tables>): Promise<Map<string, string | null>> {
  const { rows } = await sql<{ exists: boolean; former: boolean; foreign: boolean }>`
    select to_regclass('receiver_migrations') is not null as exists,
           exists (
             select from pg_attribute
             where attrelid = to_regclass('schema_migrations') and attname = 'checksum' and not attisdropped
           ) as former,
           to_regclass('deliveries') is not null as foreign`.execute(trx);
  const { exists, former, foreign } = rows[0]!;
  if (!exists && former) {
    // The first builds of 1.0.0 gave it this name, which other migrators use too, without checksums.
    await sql.raw('alter table schema_migrations rename to receiver_migrations').execute(trx);
  } else if (!exists) {
    if (foreign) {
      throw new Error(
        'a version before 1.0.0, or another program, made the table deliveries of this database; ' +
          'set DATABASE_URL to an empty database, or DATA_DIR to a new folder',
      );
    }
    const create = `
      create table receiver_migrations (
        name     text        primary key,
        checksum text,
        run_at   timestamptz not null default now()
      );
      comment on table receiver_migrations is 'The migrations that were run, and ${reporting}: the views and functions';
      comment on column receiver_migrations.checksum is 'Of the views and functions, which are run again when it changes; null: a migration, which is run once'`;
    await sql.raw(create).execute(trx);
  }
  const done = await sql<{ name: string; checksum: string | null }>`
    select name, checksum from receiver_migrations`.execute(trx);
  return new Map(done.rows.map(({ name, checksum }) => [name, checksum]));
}

/** What tells a restored copy from its original: it lacks roles and grants, so the files of db/reporting run in it again. */
async function readPlace(db: Kysely<Tables>): Promise<SqlFile> {
  const { rows } = await sql<{ text: string }>`
    select concat_ws('/', system_identifier, oid) as text
    from pg_control_system(), pg_database where datname = current_database()`.execute(db);
  return { name: 'place', text: rows[0]!.text };
}

function checksumOf(files: readonly SqlFile[]): string {
  const hash = createHash('sha256');
  for (const { name, text } of files) hash.update(`${name}\0${text}\0`);
  return hash.digest('hex');
}

async function readSqlFiles(folder: string): Promise<SqlFile[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  return Promise.all(
    files.map(async (file) => ({
      name: file.replace(/\.sql$/, ''),
      text: await readFile(join(folder, file), 'utf8'),
    })),
  );
}
