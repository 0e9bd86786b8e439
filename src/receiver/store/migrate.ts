import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Family } from '../../callbacks/families/family.ts';
import { kinds } from '../../callbacks/families/field.ts';
import { version } from '../../common/config/config.ts';
import type { Log } from '../../common/log.ts';
import { columnsOf, keyOf, literal, quoted, tableOf } from './columns.ts';
import { faultOf, hasState, makeUtf8, TablesRefused } from './errors.ts';
import { dropViews, makeViews, readReporting } from './reporting.ts';
import { type Db, readSetting, writeSettings } from './tables.ts';

const folder = join(import.meta.dirname, '../../../db');
const lockTimeoutMs = 500;
const pauseMs = 1_000;
const maxWaitMs = 300_000;

/** Rises with each change of db/, or of what makes rows: a start takes nothing back from a build with a higher one. */
export const revision = 1;

/**
 * Makes or updates the tables: runs the new files of db/migrations, then makes what the families' tables lack, and the views that
 * have changed. Callbacks are accepted meanwhile: it waits for its locks for half a second at a time.
 *
 * @param db with at least two connections, without a pooler
 * @param families with the documented ones, which the views read
 * @param timezone of the days of reports
 * @returns the names of what was run
 * @throws TablesRefused, or an Error whose cause it is
 */
export async function migrate(
  db: Db,
  families: readonly Family[],
  log: Log,
  timezone = 'Asia/Kolkata',
): Promise<string[]> {
  await requireOwn(db, families);
  const reporting = await readReporting(families, timezone);
  const done = await alone(db, log, runMigrations);
  return [...done, ...(await alone(db, log, (tx) => makeTables(tx, families, reporting, log)))];
}

async function makeTables(
  tx: Db,
  families: readonly Family[],
  reporting: string,
  log: Log,
): Promise<string[]> {
  // During an upgrade, processes of both builds may start. That of the older one takes nothing back.
  const older = await isOlder(tx, log);
  const done: string[] = [];
  for (const family of families) if (await makeTable(tx, family, older, log)) done.push(family.table);
  if (older) return done;
  if (await makeViews(tx, reporting, done.length > 0)) done.push('reporting');
  await writeSettings(tx, { families: fingerprintOf(families), version, revision: String(revision) });
  return done;
}

async function requireOwn(db: Db, families: readonly Family[]): Promise<void> {
  const encoding = await sql<{ name: string }>`select current_setting('server_encoding') as name`.execute(db);
  if (encoding.rows[0]!.name !== 'UTF8') throw new TablesRefused(`The database is not in UTF8. ${makeUtf8}`);
  const { rows } = await sql<{ table: string; hasIds: boolean }>`
    select relname as "table", exists (
      select from pg_attribute where attrelid = pg_class.oid and attname = 'delivery_id' and not attisdropped
    ) as "hasIds"
    from pg_class
    where relnamespace = 'public'::regnamespace and relname = any(${['applied_deliveries', ...families.map(({ table }) => table)]})
  `.execute(db);
  if (rows.some(({ table }) => table === 'applied_deliveries'))
    throw new TablesRefused(
      'This is a database of version 1, which is not upgraded in place: set DATABASE_URL to a new one, and run `receiver move --from <its URL>`',
    );
  const foreign = rows.find(({ hasIds }) => !hasIds);
  if (foreign)
    throw new TablesRefused(
      `public.${foreign.table} is not a table of the receiver: rename it, or set DATABASE_URL to another database`,
    );
}

async function runMigrations(tx: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from receiver.kysely_migration`.execute(tx);
  const names = (await readdir(join(folder, 'migrations'))).map((file) => basename(file, '.sql'));
  const fresh = names.filter((name) => !rows.some((row) => row.name === name)).sort();
  for (const name of fresh) {
    await sql.raw(await readFile(join(folder, 'migrations', `${name}.sql`), 'utf8')).execute(tx);
    await sql`insert into receiver.kysely_migration values (${name}, now())`.execute(tx);
  }
  return fresh;
}

const lockHolders = sql.raw<{ holder: string }>(`
  select format('pid %s of %s, %s', pid, usename, application_name) as holder
  from pg_locks join pg_stat_activity a using (pid) join pg_class c on c.oid = relation
  where granted and relnamespace::regnamespace::text in ('public', 'receiver', 'reporting') and pid <> pg_backend_pid()
  group by pid, usename, application_name order by min(xact_start) limit 3`);

/**
 * Runs in a transaction, one at a time: processes start together. It retries what others' locks keep from it, and takes from others
 * what default privileges give them on what it makes.
 */
async function alone<T>(db: Db, log: Log, run: (tx: Db) => Promise<T>): Promise<T> {
  const lock = await readFile(join(folder, 'lock.sql'), 'utf8');
  for (const end = performance.now() + maxWaitMs; ; )
    try {
      return await db.transaction().execute(async (tx) => {
        await sql.raw(`set local lock_timeout = ${lockTimeoutMs}; ${lock}`).execute(tx);
        const result = await run(tx);
        await sql`select receiver.revoke_from_others()`.execute(tx);
        return result;
      });
    } catch (cause) {
      // Two first starts have made the same.
      const isSame = hasState(cause, 'duplicateSchema', 'duplicateTable', 'uniqueViolation');
      const isBusy = isSame || faultOf(cause) === 'timeout';
      if (!isBusy) throw new Error('The tables and views could not be made', { cause });
      const holders = (await lockHolders.execute(db)).rows.map(({ holder }) => holder).join('; ');
      if (performance.now() > end)
        throw new Error(`Other sessions lock tables or views: ${holders}`, { cause });
      log.warn({ holders }, 'waiting for other sessions that lock a table or a view');
      await sleep(pauseMs);
    }
}

/** @returns whether anything was missing or changed */
async function makeTable(db: Db, family: Family, older: boolean, log: Log): Promise<boolean> {
  const { table } = family;
  const { rows } = await sql<{ name: string; type: string }>`
    select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
    where attrelid = to_regclass(${`public.${table}`}) and attnum > 0 and not attisdropped`.execute(db);
  const existing = new Map(
    rows.map(({ name, type }) => [name, type.replace('timestamp with time zone', 'timestamptz')]),
  );
  const columns = Object.entries(columnsOf(family));
  const missing = columns.filter(([name]) => !existing.has(name));
  const changed = columns.filter(([name, type]) => existing.has(name) && existing.get(name) !== type);
  if (changed.length > 0) {
    if (older) return false;
    const names = changed.map(([name]) => name);
    const list = changed.map(([name, type]) => `${name} (${existing.get(name)}) to ${type}`).join(', ');
    if (names.some((name) => !Object.hasOwn(family.fields, name) || name === family.key))
      throw new TablesRefused(
        `Columns that every row needs have other types: ${list}. Rename the table, run receiver migrate, then receiver rebuild, which makes its rows anew`,
      );
    await dropViews(db);
    await changeTypes(db, family, names);
    log.warn({ table, columns: list }, 'the types of columns have changed: run receiver rebuild');
  }
  if (missing.length === 0) return changed.length > 0;
  const at = sql.table(`public.${table}`);
  const typed = ([name, type]: readonly [string, string]) => sql`${sql.ref(name)} ${sql.raw(type)}`;
  const required = [...keyOf(family), 'business_id', 'client_id', 'last_event', 'event_time', 'delivery_id'];
  const inTable = (column: readonly [string, string]) =>
    required.includes(column[0]) ? sql`${typed(column)} not null` : typed(column);
  if (existing.size > 0) {
    const added = missing.map((column) => sql`add column ${typed(column)}`);
    await sql`alter table ${at} ${sql.join(added)}`.execute(db);
    return true;
  }
  const key = sql.join(keyOf(family).map((name) => sql.ref(name)));
  await sql`create table ${at} (${sql.join(columns.map(inTable))}, primary key (${key}))`.execute(db);
  const events = Object.keys(family.events).join(', ') || 'that no family lists';
  const comment = `Merged from the callbacks ${events}: the newest one that has a field decides it`;
  await sql`comment on table ${at} is ${sql.lit(comment)}`.execute(db);
  return true;
}

/**
 * Gives columns the types of their fields, in place: rows, rights, comments and indexes stay, and so do values as far as they
 * convert. A rebuild reads them from the callbacks again. Readers of the table wait meanwhile: 5 s for a million rows.
 *
 * @throws TablesRefused that names a view that depends on them
 */
async function changeTypes(tx: Db, family: Family, columns: readonly string[]): Promise<void> {
  const table = tableOf(family);
  for (const name of columns) {
    const { column, select } = kinds[family.fields[name]!.kind];
    const [own, key] = [quoted(name), literal(name)];
    // PostgreSQL 14 cannot ask whether a value converts.
    const statements = `
      create function receiver.converted(data jsonb) returns ${column} language plpgsql as $convert$
        begin return ${select('data', key)}; exception when data_exception then return null; end $convert$;
      alter table ${table} alter column ${own} type ${column} using receiver.converted(jsonb_build_object(${key}, ${own}));
      drop function receiver.converted(jsonb)`;
    await sql
      .raw(statements)
      .execute(tx)
      .catch((error) => {
        if (!hasState(error, 'featureNotSupported')) throw error;
        throw new TablesRefused(
          `The type of ${name} cannot be changed: ${error.detail}. Save and drop that view, run receiver migrate, and make it again`,
        );
      });
  }
}

/** A hash of what makes rows of callbacks: a worker with another one must not merge. */
export function fingerprintOf(families: readonly Family[]): string {
  const facts = families.map(({ name, table, events, fields, key, changeTime, dependentFields }) => ({
    ...{ name, table, events, key, changeTime, dependentFields },
    fields: Object.entries(fields).map(([field, { kind, isActionTime, alias, fromEnvelope }]) => [
      ...[field, kind, isActionTime, alias, fromEnvelope !== undefined],
    ]),
  }));
  return hash('sha256', JSON.stringify(facts)).slice(0, 32);
}

async function isOlder(db: Db, log: Log): Promise<boolean> {
  const newer = { revision: await readSetting(db, 'revision'), version: await readSetting(db, 'version') };
  if (Number(newer.revision ?? 0) <= revision) return false;
  log.warn({ newer, own: { revision, version } }, 'a newer build owns the tables: they stay as they are');
  return true;
}
