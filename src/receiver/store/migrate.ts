import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Migration, Migrator, type RawBuilder, sql } from 'kysely';
import type { Log } from '../../common/log.ts';
import { version } from '../../common/version.ts';
import type { Family } from '../families/family.ts';
import { changeTypes } from './change-types.ts';
import { columnsOf, keyOf } from './columns.ts';
import { faultOf, TablesRefused } from './errors.ts';
import { dropViews, makeViews, readReporting } from './reporting.ts';
import type { Db } from './tables.ts';

const folder = join(import.meta.dirname, '../../../db/migrations');
const lockTimeoutMs = 500;
const pauseMs = 1_000;

/**
 * Makes or updates the tables: runs the new files of db/migrations, then makes what the families' tables lack, and the views that have
 * changed. Callbacks are accepted meanwhile: it waits for its locks for half a second at a time.
 *
 * @param db with at least two connections, without a pooler
 * @param families with the documented ones, which the views read
 * @param timezone of the days of reports; default: that of REPORT_TIMEZONE
 * @returns the names of what was run
 * @throws Error with the name of the step, or its cause: TablesRefused
 */
export async function migrate(
  db: Db,
  families: readonly Family[],
  log: Pick<Log, 'warn'>,
  timezone = 'Asia/Kolkata',
): Promise<string[]> {
  await requireOwn(db, families);
  const provider = { getMigrations: async () => ({ ...(await readRun(db)), ...(await readMigrations()) }) };
  const migrator = new Migrator({ db, provider, migrationTableSchema: 'receiver' });
  const { error, results = [] } = await migrator.migrateToLatest();
  const failed = results.find(({ status }) => status === 'Error');
  if (error)
    throw new Error(`The tables could not be made${failed ? ` (${failed.migrationName})` : ''}`, {
      cause: error,
    });
  const done = results.map(({ migrationName }) => migrationName);
  const reporting = await readReporting(families, timezone);
  return [...done, ...(await alone(db, log, (tx) => makeTables(tx, families, reporting, log)))];
}

/** @returns the names of the tables that were made or altered, and `reporting` if the views were */
async function makeTables(
  tx: Db,
  families: readonly Family[],
  reporting: string,
  log: Pick<Log, 'warn'>,
): Promise<string[]> {
  // During an upgrade, processes of both versions may start. That of the older one takes nothing back.
  const older = await isOlder(tx);
  const done: string[] = [];
  for (const family of families) if (await makeTable(tx, family, older, log)) done.push(family.table);
  if (older) return done;
  if (await makeViews(tx, reporting, done.length > 0)) done.push('reporting');
  await recordFingerprint(tx, fingerprintOf(families));
  return done;
}

/** @throws TablesRefused before anything is changed */
async function requireOwn(db: Db, families: readonly Family[]): Promise<void> {
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

/** What was run: a process of an older version that starts beside newer ones does not have all files. */
async function readRun(db: Db): Promise<Record<string, Migration>> {
  const { rows } = await sql<{ exists: boolean }>`
    select to_regclass('receiver.kysely_migration') is not null as exists`.execute(db);
  if (!rows[0]!.exists) return {};
  const run = await sql<{ name: string }>`select name from receiver.kysely_migration`.execute(db);
  return Object.fromEntries(run.rows.map(({ name }) => [name, { up: async () => {} }]));
}

async function readMigrations(): Promise<Record<string, Migration>> {
  const files = (await readdir(folder)).filter((file) => /^\d{4}_.*\.sql$/.test(file));
  const read = async (file: string) => {
    const text = await readFile(join(folder, file), 'utf8');
    return [file.replace(/\.sql$/, ''), { up: (db: Db) => sql.raw(text).execute(db) }] as const;
  };
  return Object.fromEntries(await Promise.all(files.map(read))) as unknown as Record<string, Migration>;
}

/** Runs in a transaction, one at a time: processes start together. Retries what others' locks keep from it. */
async function alone<T>(db: Db, log: Pick<Log, 'warn'>, run: (tx: Db) => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await db.transaction().execute(async (tx) => {
        await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(tx);
        await sql`lock table receiver.settings in share row exclusive mode`.execute(tx);
        return run(tx);
      });
    } catch (error) {
      if (faultOf(error) !== 'timeout')
        throw new Error('The tables and views could not be made', { cause: error });
      log.warn({}, 'waiting for other sessions that lock a table or a view');
      await sleep(pauseMs);
    }
}

/** @returns whether anything was missing or changed @throws TablesRefused where a type cannot be changed in place */
async function makeTable(db: Db, family: Family, older: boolean, log: Pick<Log, 'warn'>): Promise<boolean> {
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
    const list = changed.map(([name, type]) => `${name} (${existing.get(name)}) to ${type}`).join(', ');
    if (changed.some(([name]) => !Object.hasOwn(family.fields, name) || name === family.identifiedBy))
      throw new TablesRefused(
        `Columns that every row needs have other types: ${list}. Rename the table, run receiver migrate, then receiver rebuild, which makes its rows anew`,
      );
    await dropViews(db);
    await changeTypes(
      db,
      family,
      changed.map(([name]) => name),
    );
    log.warn({ table, columns: list }, 'the types of columns have changed: run receiver rebuild');
  }
  if (missing.length === 0) return changed.length > 0;
  const at = sql.table(`public.${table}`);
  const typed = ([name, type]: readonly [string, string]) => sql`${sql.ref(name)} ${sql.raw(type)}`;
  const required = [...keyOf(family), 'business_id', 'client_id', 'last_event', 'event_time', 'delivery_id'];
  const inTable = (column: readonly [string, string]) =>
    required.includes(column[0]) ? sql`${typed(column)} not null` : typed(column);
  const statements: RawBuilder<unknown>[] =
    existing.size === 0
      ? [
          sql`create table ${at} (${sql.join(columns.map(inTable))}, primary key (${sql.join(keyOf(family).map((name) => sql.ref(name)))}))`,
          sql`comment on table ${at} is ${sql.lit(`Merged from the callbacks ${Object.keys(family.events).join(', ') || 'that no family lists'}: the newest one that has a field decides it`)}`,
        ]
      : [sql`alter table ${at} ${sql.join(missing.map((column) => sql`add column ${typed(column)}`))}`];
  for (const statement of statements) await statement.execute(db);
  return true;
}

/** A hash of what makes rows of callbacks: a worker with another one must not merge. */
export function fingerprintOf(families: readonly Family[]): string {
  const facts = families.map(({ name, table, events, fields, identifiedBy, orderedBy, facts: together }) => ({
    ...{ name, table, events, identifiedBy, orderedBy, together },
    fields: Object.entries(fields).map(([field, { kind, isSaid, alias, fromEnvelope }]) => [
      ...[field, kind, isSaid, alias, fromEnvelope !== undefined],
    ]),
  }));
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 32);
}

async function recordFingerprint(db: Db, fingerprint: string): Promise<void> {
  await sql`
    insert into receiver.settings values ('families', ${fingerprint}), ('version', ${version})
    on conflict (name) do update set value = excluded.value`.execute(db);
}

/** Whether this process is of an older version than the tables. */
async function isOlder(db: Db): Promise<boolean> {
  const { rows } = await sql<{ value: string }>`
    select value from receiver.settings where name = 'version'`.execute(db);
  return version.localeCompare(rows[0]?.value ?? '', 'en', { numeric: true }) < 0;
}
