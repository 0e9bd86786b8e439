import { join } from 'node:path';
import { sql, type Transaction } from 'kysely';
import { createLog, type Log } from '../common/log.ts';
import { InvalidConfiguration } from '../config/config.ts';
import { changeSchema, type SchemaChange } from './change-schema.ts';
import { hasCode } from './faults.ts';
import { checksumOf, createList, findDue, readFiles, requireNoneOfOthers } from './migration-list.ts';
import { applyReporting, reporting, type SqlFile, withoutViewsInTheWay } from './repeatable-migrations.ts';
import type { Db, Tables } from './tables.ts';

const ownFolder = join(import.meta.dirname, '../../db');

/**
 * Migrates the database: runs the new files of db/migrations in order, each in its own transaction, then the views and
 * functions of db/reporting if they have changed. A migration whose first line is `-- no transaction` runs statement
 * by statement; each ends with a `;` at the end of a line and is safe to repeat.
 *
 * Callbacks are accepted meanwhile: a migration waits for a lock for at most half a second at a time. Only one process
 * migrates at a time. Where another role owns the tables, nothing is run.
 *
 * @param db with at least three connections
 * @returns the names of the migrations that ran, and `reporting` if its files ran
 * @throws InvalidConfiguration if the database's encoding is not UTF8, or if the owner must run migrations; the
 *   database's error, with the name of the migration that failed; earlier migrations stay
 */
export async function migrate(
  db: Db,
  log: Pick<Log, 'warn'> = createLog('silent'),
  folder = ownFolder,
): Promise<string[]> {
  const files = await readFiles(folder);
  const { migrations, views } = files;
  let at = '';
  try {
    await requireUtf8(db);
    const { due } = await findDue(db, files);
    const owner = await findOtherOwner(db);
    if (owner) return leaveToOwner(owner, due, log);
    const lacksGrants = await hasNewRole(db);
    if (due.length === 0 && !lacksGrants) return [];
    await requireNoneOfOthers(db);
    return await changeSchema(db, log, async (change) => {
      await change.transaction('the list of migrations', (trx) => createList(trx, migrations));
      // Another process may have run some meanwhile.
      const { due: names, checksum } = await findDue(db, files);
      if (lacksGrants && !names.includes(reporting)) names.push(reporting);
      for (const migration of migrations.filter(({ name }) => names.includes(name))) {
        at = ` (${migration.name})`;
        await run(change, migration, views);
      }
      if (names.includes(reporting)) {
        at = ` (${reporting})`;
        await applyReporting(change, views, checksum);
      }
      return names;
    });
  } catch (error) {
    if (error instanceof InvalidConfiguration) throw error;
    const advice = hasCode(error, '42501') ? ': run `receiver migrate` with the owner of the database' : '';
    throw new Error(`The database could not be migrated${at}${advice}`, { cause: error });
  }
}

/** The owner of the tables, unless this role may change them; undefined where there are none. */
async function findOtherOwner(db: Db): Promise<string | undefined> {
  const { rows } = await sql<{ owner: string }>`
    select pg_get_userbyid(relowner) as owner from pg_class
    where oid = to_regclass('receiver_migrations') and not pg_has_role(relowner, 'usage')`.execute(db);
  return rows[0]?.owner;
}

/** Whether the role of the receiver was created after the files of db/reporting were run, so that it has no rights yet. */
async function hasNewRole(db: Db): Promise<boolean> {
  const { rows } = await sql<{ isNew: boolean }>`
    select exists (
      select from pg_roles
      where rolname = 'receiver_service' and not has_table_privilege(rolname, to_regclass('inbox'), 'select')
    ) as "isNew"`.execute(db);
  return rows[0]!.isNew;
}

/** @throws InvalidConfiguration where the owner must run migrations first; without the newest reports, the receiver can run */
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
export async function findPending(db: Db, folder = ownFolder): Promise<string[]> {
  return (await findDue(db, await readFiles(folder))).due;
}

/**
 * Requires a database that can store every character: callbacks contain text in any script.
 *
 * @throws InvalidConfiguration where its encoding is not UTF8
 */
export async function requireUtf8(db: Db): Promise<void> {
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
