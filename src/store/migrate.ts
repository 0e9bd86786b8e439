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
 * @param db with at least three connections
 * @returns the names of the migrations that ran, and `reporting` if its files ran
 * Where another role owns the tables, nothing is run.
 *
 * @throws InvalidConfiguration if the database's encoding is not UTF8, or if the owner must run migrations; the database's error, with the name of the
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
    const due = findDue(await readDone(db), migrations, views);
    const owner = await findOtherOwner(db);
    if (owner) return leaveToOwner(owner, due, log);
    const lacksGrants = await hasNewRole(db);
    if (due.length === 0 && !lacksGrants) return [];
    return await changeSchema(db, log, async (change) => {
      await change.transaction('the list of migrations', (trx) => createList(trx, migrations));
      // Another process may have run some meanwhile.
      const names = findDue(await readDone(db), migrations, views);
      if (lacksGrants && !names.includes(reporting)) names.push(reporting);
      for (const migration of migrations.filter(({ name }) => names.includes(name))) {
        at = ` (${migration.name})`;
        await run(change, migration, views);
      }
      if (names.includes(reporting)) {
        at = ` (${reporting})`;
        await applyReporting(change, views, checksumOf([...migrations, ...views]));
      }
      return names;
    });
  } catch (error) {
    if (error instanceof InvalidConfiguration) throw error;
    const advice =
      (error as { code?: string }).code === '42501'
        ? ': run `receiver migrate` with the owner of the database'
        : '';
    throw new Error(`The database could not be migrated${at}${advice}`, { cause: error });
  }
}

/** The checksums of what was run, by name; null: not known. */
type Done = ReadonlyMap<string, string | null>;

/**
 * The names of the migrations to run, in order, and `reporting` if its files changed.
 *
 * @throws Error if a newer version has migrated the database, or if a migration was edited after it was run
 */
function findDue(done: Done, migrations: readonly SqlFile[], views: readonly SqlFile[]): string[] {
  const known = new Set([...migrations.map(({ name }) => name), reporting]);
  const unknown = [...done.keys()].filter((name) => !known.has(name));
  if (unknown.length > 0) {
    throw new Error(
      `a newer version of the service has run ${unknown.join(', ')}; start that version or a later one`,
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
  // Of the migrations too: views may show every column of a table.
  const changed = done.get(reporting) !== checksumOf([...migrations, ...views]);
  return changed ? [...due, reporting] : due;
}

/** The owner of the tables, unless this role may change them; undefined where there are none. */
async function findOtherOwner(db: Kysely<Tables>): Promise<string | undefined> {
  const { rows } = await sql<{ owner: string }>`
    select pg_get_userbyid(relowner) as owner from pg_class
    where oid = to_regclass('receiver_migrations') and not pg_has_role(relowner, 'usage')`.execute(db);
  return rows[0]?.owner;
}

/** Whether the role of the service was created after the files of db/reporting were run, so that it has no rights yet. */
async function hasNewRole(db: Kysely<Tables>): Promise<boolean> {
  const { rows } = await sql<{ isNew: boolean }>`
    select exists (
      select from pg_roles join pg_namespace on nspname = current_schema()
      where rolname = 'receiver_service' and not has_schema_privilege(rolname, nspname, 'usage')
    ) as "isNew"`.execute(db);
  return rows[0]!.isNew;
}

/** @throws InvalidConfiguration where the owner must run migrations first; without the newest reports, the service can run */
function leaveToOwner(owner: string, due: readonly string[], log: Pick<Log, 'warn'>): [] {
  if (due.length === 0) return [];
  if (due.some((name) => name !== reporting)) {
    throw new InvalidConfiguration([
      `DATABASE_URL has a role that may not change the tables, and they lack ${due.join(', ')}: run \`receiver migrate\` ` +
        `with the role ${owner}, then start again`,
    ]);
  }
  log.warn({ owner }, 'the reports are those of another version, until their owner runs `receiver migrate`');
  return [];
}

/**
 * The names of the migrations that a start would run, and `reporting`. Changes nothing.
 *
 * @throws as findDue
 */
export async function findPending(db: Kysely<Tables>, folder = ownFolder): Promise<string[]> {
  const [migrations, views] = await Promise.all(
    ['migrations', 'reporting'].map((name) => readSqlFiles(join(folder, name))),
  );
  return findDue(await readDone(db), migrations!, views!);
}

/**
 * Requires a database that can store every character: callbacks contain text in any script.
 *
 * @throws InvalidConfiguration where its encoding is not UTF8
 */
export async function requireUtf8(db: Kysely<Tables>): Promise<void> {
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

async function run(change: SchemaChange, file: SqlFile, views: SqlFile[]): Promise<void> {
  const { name, text } = file;
  const markDone = (trx: Transaction<Tables>) =>
    sql`insert into receiver_migrations (name, checksum) values (${name}, ${checksumOf([file])})`.execute(
      trx,
    );
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

/** What was run; `reporting` is the entry of the views and functions. */
async function readDone(db: Kysely<Tables>): Promise<Done> {
  const { rows } = await sql<{ list: string | null }>`
    select coalesce(to_regclass('receiver_migrations')::text, (
      -- The first builds of 1.0.0 gave it this name, which other migrators use too, without checksums.
      select attrelid::regclass::text from pg_attribute
      where attrelid = to_regclass('schema_migrations') and attname = 'checksum' and not attisdropped
    )) as list`.execute(db);
  const { list } = rows[0]!;
  if (!list) return new Map();
  const done = await sql<{ name: string; checksum: string | null }>`
    select name, checksum from ${sql.raw(list)}`.execute(db);
  return new Map(done.rows.map(({ name, checksum }) => [name, checksum]));
}

/** Creates the schema and the list of migrations where they are missing, and notes the checksums that are. */
async function createList(trx: Transaction<Tables>, migrations: readonly SqlFile[]): Promise<void> {
  const { rows } = await sql<{ schema: string; isMissing: boolean }>`
    select current_setting('search_path') as schema, current_schema() is null as "isMissing"`.execute(trx);
  const { schema, isMissing } = rows[0]!;
  if (isMissing) await sql`create schema if not exists ${sql.id(schema)}`.execute(trx);
  const { rows: found } = await sql<{ exists: boolean; former: boolean; foreign: boolean }>`
    select to_regclass('receiver_migrations') is not null as exists,
           exists (
             select from pg_attribute
             where attrelid = to_regclass('schema_migrations') and attname = 'checksum' and not attisdropped
           ) as former,
           to_regclass('deliveries') is not null as foreign`.execute(trx);
  const { exists, former, foreign } = found[0]!;
  if (!exists && former) {
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
      comment on column receiver_migrations.checksum is 'SHA-256 of the text; null: not known'`;
    await sql.raw(create).execute(trx);
  }
  for (const file of migrations) {
    await sql`
      update receiver_migrations set checksum = ${checksumOf([file])}
      where name = ${file.name} and checksum is null`.execute(trx);
  }
}

function checksumOf(files: readonly SqlFile[]): string {
  const hash = createHash('sha256');
  // A checkout on Windows may have other line ends.
  for (const { name, text } of files) hash.update(`${name}\0${text.replaceAll('\r\n', '\n')}\0`);
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
