import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql, type Transaction } from 'kysely';
import { reporting, type SqlFile } from './repeatable-migrations.ts';
import type { Db, Tables } from './tables.ts';

/**
 * The names of the migrations to run, in order, and `reporting` if its files changed; with the checksum of what that
 * depends on.
 *
 * @throws Error if a newer version has migrated the database, or if a migration was edited after it was run
 */
export async function findDue(db: Db, { migrations, views }: Awaited<ReturnType<typeof readFiles>>) {
  const done = await readDone(db);
  const known = new Set([...migrations.map(({ name }) => name), reporting]);
  const unknown = [...done.keys()].filter((name) => !known.has(name));
  if (unknown.length > 0) {
    throw new Error(
      `a newer version of the receiver has run ${unknown.join(', ')}; start that version or a later one`,
    );
  }
  const edited = migrations.filter(
    (file) => (done.get(file.name) ?? checksumOf([file])) !== checksumOf([file]),
  );
  if (edited.length > 0) {
    throw new Error(
      `db/migrations has another text of ${edited.map(({ name }) => name).join(', ')} than the one that was run here; ` +
        'restore the files of the release, and put changes into a new migration',
    );
  }
  const due = migrations.map(({ name }) => name).filter((name) => !done.has(name));
  // The migrations count, too: views may show every column of a table.
  const checksum = checksumOf([...migrations, ...views, await readPlace(db)]);
  return { due: done.get(reporting) === checksum ? due : [...due, reporting], checksum };
}

/**
 * The table that lists what was run, under either of its names; null: there is none. The first builds of 1.0.0 called it
 * schema_migrations, as other migrators do, without checksums.
 */
async function findList(db: Db): Promise<string | null> {
  const { rows } = await sql<{ list: string | null }>`
    select coalesce(to_regclass('receiver_migrations'), (
      select attrelid::regclass from pg_attribute
      where attrelid = to_regclass('schema_migrations') and attname = 'checksum' and not attisdropped
    ))::text as list`.execute(db);
  return rows[0]!.list;
}

/** The checksums of what was run, by name; null: not known. `reporting` is the entry of the views and functions. */
async function readDone(db: Db): Promise<Map<string, string | null>> {
  const list = await findList(db);
  if (!list) return new Map();
  const { rows } = await sql<{ name: string; checksum: string | null }>`
    select name, checksum from ${sql.raw(list)}`.execute(db);
  return new Map(rows.map(({ name, checksum }) => [name, checksum]));
}

/** Creates the list of migrations where it is missing, and notes the checksums that are. */
export async function createList(trx: Transaction<Tables>, migrations: readonly SqlFile[]): Promise<void> {
  const list = await findList(trx);
  if (list && list !== 'receiver_migrations') {
    await sql.raw(`alter table ${list} rename to receiver_migrations`).execute(trx);
  } else if (!list) {
    const create = `
      create table receiver_migrations (
        name     text        primary key,
        checksum text,
        run_at   timestamptz not null default now()
      );
      comment on table receiver_migrations is 'The migrations that were run, and ${reporting}: the views and functions';
      comment on column receiver_migrations.checksum is 'SHA-256 of the text; null: not known'`;
    await sql.raw(create).execute(trx);
  }
  for (const file of migrations) {
    await sql`
      update receiver_migrations set checksum = ${checksumOf([file])}
      where name = ${file.name} and checksum is null`.execute(trx);
  }
}

/** @throws Error where there are tables that this version did not make */
export async function requireNoneOfOthers(db: Db): Promise<void> {
  if (await findList(db)) return;
  const { rows } = await sql<{ foreign: boolean }>`
    select to_regclass('deliveries') is not null as foreign`.execute(db);
  if (!rows[0]!.foreign) return;
  throw new Error(
    'a version before 1.0.0, or another program, made the table deliveries of this database; ' +
      'set DATABASE_URL to an empty database, or DATA_DIR to a new folder',
  );
}

/** The difference between a restored copy and its original: it lacks roles and grants, so the files of db/reporting run in it again. */
async function readPlace(db: Db): Promise<SqlFile> {
  const { rows } = await sql<{ text: string }>`
    select concat_ws('/', system_identifier, oid) as text
    from pg_control_system(), pg_database where datname = current_database()`.execute(db);
  return { name: 'place', text: rows[0]!.text };
}

export function checksumOf(files: readonly SqlFile[]): string {
  const hash = createHash('sha256');
  // A checkout on Windows may have other line ends.
  for (const { name, text } of files) hash.update(`${name}\0${text.replaceAll('\r\n', '\n')}\0`);
  return hash.digest('hex');
}

/** The files of a folder such as db, in the order in which they run. */
export async function readFiles(folder: string) {
  return {
    migrations: await readSqlFiles(join(folder, 'migrations')),
    views: await readSqlFiles(join(folder, 'reporting')),
  };
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
