import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import pg from 'pg';
import { InvalidConfiguration } from '../config.ts';
import { createLog } from '../log.ts';
import { readTables } from '../metrics/read-tables.ts';
import { checkTimezone } from '../reporting/check-timezone.ts';
import { writeProbe } from '../store/circuits.ts';
import { type Database, openDatabase } from '../store/database.ts';
import { installed } from '../store/embedded/binaries.ts';
import { findHome } from '../store/embedded/place.ts';
import { isPostgres, readLockFile } from '../store/embedded/server-process.ts';
import { isReadOnly } from '../store/faults.ts';
import { compareMigrations, requireUtf8 } from '../store/migrate.ts';
import type { Tables } from '../store/tables.ts';
import { checkClock } from './clock.ts';
import { explainConnection } from './connection.ts';
import { judgeServer, readServer } from './database-server.ts';
import type { Check, Report, Subject } from './finding.ts';

const queryTimeoutMs = 3_000;

/** PostgreSQL: whether it can be used, the server's settings, the database, the rights, what waits. */
export const checkDatabase: Check = async (subject, report) => {
  const url = await findDatabase(subject, report);
  if (!url) return;
  const database = openDatabase(url, createLog('silent'), {
    connections: 2,
    name: 'receiver doctor',
    queryTimeoutMs,
  });
  const { db } = database;
  /** A check that cannot be done hides no other one. */
  const attempt = async (name: string, check: () => Promise<void>) => {
    try {
      await check();
    } catch (error) {
      const problems =
        error instanceof InvalidConfiguration ? error.problems : [explain(error, url, subject)];
      for (const problem of problems) report('fail', name, problem);
    }
  };
  try {
    judgeServer(await readServer(database), subject, report);
    await attempt('clock of PostgreSQL', () =>
      checkClock('clock of PostgreSQL', () => readTime(db), subject, report),
    );
    await attempt('encoding', () => requireUtf8(db).then(() => report('ok', 'encoding', 'UTF8')));
    await attempt('time zone', async () => {
      const zone = subject.config.reportTimezone;
      await checkTimezone(db, zone);
      report('ok', 'time zone', `${zone} is the same in Node and in PostgreSQL`);
    });
    await attempt('tables', () => checkTables(database, subject, report));
  } catch (error) {
    report('fail', 'database', explain(error, url, subject));
  } finally {
    // A server that hangs must not delay the other findings.
    void database.close().catch(() => {});
  }
};

/** The URL of the database; of the embedded one only while it runs, because a start would change its files. */
async function findDatabase({ config, invalid }: Subject, report: Report): Promise<string | undefined> {
  if (config.databaseUrl || invalid.has('DATABASE_URL')) return config.databaseUrl;
  const home = findHome(config.dataDir);
  const server = home && readLockFile(join(home, 'database'));
  if (server && isPostgres(server.pid) && existsSync(join(home, 'connection-url'))) {
    return readFileSync(join(home, 'connection-url'), 'utf8').trim();
  }
  await installed(); // or else NoEmbeddedPostgres says what to do
  const folder = resolve(config.dataDir);
  const state = home
    ? 'does not run. To check it, too, run this while the service runs'
    : 'does not exist yet. The first start creates it';
  report('ok', 'database', `the embedded PostgreSQL in ${folder} ${state}`);
  return undefined;
}

async function readTime(db: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{ ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`.execute(db);
  return rows[0]!.ms;
}

/** The migrations and, where there are tables, their rights, indexes and deliveries. */
async function checkTables({ db, pool }: Database, { config }: Subject, report: Report): Promise<void> {
  const { done, pending, unknown } = await compareMigrations(db);
  if (unknown.length > 0) {
    report(
      'fail',
      'tables',
      `a newer version has run ${unknown.join(', ')}. Run that version or a later one`,
    );
  } else if (pending.length > 0) {
    const { rows } = await sql<{ may: boolean }>`
      select has_schema_privilege('public', 'create') and has_database_privilege(current_database(), 'create') as may`.execute(
      db,
    );
    const missing = done.length === 0 ? 'there are no tables yet' : `not yet run: ${pending.join(', ')}`;
    if (!rows[0]!.may)
      report(
        'fail',
        'tables',
        `${missing}, and this role may not create any. Run receiver migrate as the owner of the database`,
      );
    else if (done.length === 0) report('ok', 'tables', `${missing}. The first start creates them`);
    else report('warn', 'tables', `${missing}. The next start runs them, or run receiver migrate`);
  } else report('ok', 'tables', 'those of this version');
  if (done.length === 0) return;
  await checkRights(db, !config.redisUrl, report);
  await pool.query(writeProbe).then(
    () => report('ok', 'writing', 'deliveries can be inserted'),
    (error) => report('fail', 'writing', explainWrite(error)),
  );
  const { rows: invalid } = await sql<{ name: string }>`
    select indexrelid::regclass::text as name from pg_index where not indisvalid and indrelid >= 16384`.execute(
    db,
  );
  for (const { name } of invalid) {
    report(
      'warn',
      'indexes',
      `${name} is invalid. Unless it is being built: reindex index concurrently ${name}`,
    );
  }
  await checkDeliveries(pool, report);
}

function explainWrite(error: unknown): string {
  if (isReadOnly(error))
    return 'the server or the role is read-only. Point DATABASE_URL to the primary, or set default_transaction_read_only = off';
  const { code, message } = error as pg.DatabaseError;
  if (code === '42501') return `${message}. Grant the rights of the line rights`;
  if (code === '57014' || /timeout/.test(message))
    return "the table inbox is locked. Find who holds it: select * from pg_locks where relation = 'inbox'::regclass";
  return message;
}

/** What the role lacks on the tables of the service, and of its queue. */
async function checkRights(db: Kysely<Tables>, hasQueue: boolean, report: Report): Promise<void> {
  const { rows } = await sql<{ schema: string; role: string; tables: string[] }>`
    select n.nspname as schema, quote_ident(current_user) as role, array_agg(relname::text order by relname) as tables
    from pg_class c join pg_namespace n on n.oid = relnamespace
    where relkind in ('r', 'p') and (nspname in ('public', 'withheld') or ${hasQueue} and nspname = 'bullmq')
      and relowner = (select relowner from pg_class where oid = 'receiver_migrations'::regclass)
      and not (has_schema_privilege(n.oid, 'usage')
        and has_table_privilege(c.oid, 'select') and has_table_privilege(c.oid, 'insert')
        and has_table_privilege(c.oid, 'update') and has_table_privilege(c.oid, 'delete'))
    group by 1, 2 order by 1`.execute(db);
  if (rows.length === 0) report('ok', 'rights', 'those on every table');
  for (const { schema, role, tables } of rows) {
    const some =
      tables.length > 3
        ? `${tables.slice(0, 3).join(', ')} and ${tables.length - 3} more`
        : tables.join(', ');
    const fix = `grant usage on schema ${schema} to ${role}; grant select, insert, update, delete on all tables in schema ${schema} to ${role}`;
    report('fail', 'rights', `${role} may not read and write ${schema}: ${some}. Run as the owner: ${fix}`);
  }
}

const longS = 300;

async function checkDeliveries(pool: pg.Pool, report: Report): Promise<void> {
  const { received, failed, oldestPendingS, quarantine } = await readTables(pool);
  const oldest = received > 0 ? `, the oldest for ${Math.round(oldestPendingS)} s` : '';
  const waiting = `${received} wait${oldest}`;
  if (oldestPendingS > longS)
    report('warn', 'deliveries', `${waiting}. Is a worker running (ROLE=worker or all)? Read its log`);
  else report('ok', 'deliveries', waiting);
  if (failed > 0) report('warn', 'deliveries', `${failed} failed. To see why: npx receiver replay --dry-run`);
  const rejected = [...quarantine.values()].reduce((sum, rows) => sum + rows, 0);
  if (rejected > 0)
    report('ok', 'quarantine', `${rejected} rejected callbacks. To see why: npx receiver quarantine list`);
}

function explain(error: unknown, url: string, { redact }: Subject): string {
  const message = redact(error instanceof Error ? error.message : String(error));
  try {
    const { host, port, user, database } = new pg.Client({ connectionString: url });
    const target = { variable: 'DATABASE_URL', store: 'PostgreSQL', host, port, user, database };
    return explainConnection(error, target) ?? message;
  } catch {
    return `DATABASE_URL is no connection string of PostgreSQL: ${message}`;
  }
}
