import bytes from 'bytes';
import { sql } from 'kysely';
import type pg from 'pg';
import { lateS } from '../health/processing.ts';
import { readProblems } from '../health/read-problems.ts';
import { quarantineLimit } from '../intake/eviction.ts';
import { droppedDays, readDropped } from '../intake/list-quarantine.ts';
import { probeInbox } from '../intake/probe-inbox.ts';
import type { Database } from '../store/database.ts';
import { describeRefusal, isReadOnly } from '../store/faults.ts';
import { describeSession, tryFindLockHolders } from '../store/lock-holders.ts';
import { findPending } from '../store/migrate.ts';
import { requireNoneOfOthers } from '../store/migration-list.ts';
import { readTables } from '../store/read-tables.ts';
import type { Db } from '../store/tables.ts';
import { checkDestinations } from './changes.ts';
import type { ReportFinding, Subject } from './finding.ts';

export type DatabaseCheck = (database: Database, report: ReportFinding, subject: Subject) => Promise<void>;

/** The list of migrations, also where the role may not look into the schema. */
const list = sql`pg_class where relname = 'receiver_migrations' and relnamespace = 'public'::regnamespace`;

export async function hasTables(db: Db): Promise<boolean> {
  const { rows } = await sql`select from ${list}`.execute(db);
  return rows.length > 0;
}

/** An empty database: whether the first start can create the tables. */
export const checkEmpty: DatabaseCheck = async ({ db }, report) => {
  await requireNoneOfOthers(db);
  const { rows } = await sql<{ may: boolean; role: string }>`
    select has_database_privilege(current_database(), 'create')
        and coalesce(has_schema_privilege('public'::regnamespace, 'create'), true) as may,
      quote_ident(current_user) as role`.execute(db);
  const { may, role } = rows[0]!;
  if (may) return report('ok', 'tables', 'there are none yet. The first start creates them');
  const fix = 'Run receiver migrate as the owner';
  report('fail', 'tables', `there are none yet, and ${role} may not create any. ${fix}`);
};

const checkMigrations: DatabaseCheck = async ({ db }, report) => {
  const pending = await findPending(db);
  if (pending.length === 0) return report('ok', 'tables', 'those of this version');
  const fix = 'Run receiver migrate as the owner, or start';
  report('warn', 'tables', `not yet run: ${pending.join(', ')}. ${fix}`);
};

/** Whether the role owns the tables, or has the rights of the receiver's role (db/reporting/7_service.sql). */
const checkRights: DatabaseCheck = async ({ db }, report, { config }) => {
  const schemas = ['public', 'withheld', ...(config.redisUrl ? [] : ['bullmq'])];
  const { rows } = await sql<{ role: string; isMember: boolean | null; tables: string[] | null }>`
    select quote_ident(current_user) as role,
      (select pg_has_role(oid, 'usage') from pg_roles where rolname = 'receiver_service') as "isMember",
      (select array_agg(c.oid::regclass::text order by 1)
        from pg_class c join pg_namespace n on n.oid = relnamespace
        where relkind in ('r', 'p') and nspname = any(${schemas})
          and relowner = (select relowner from ${list})
          and not (has_schema_privilege(n.oid, 'usage') and has_any_column_privilege(c.oid, 'select'))) as tables`.execute(
    db,
  );
  const { role, isMember, tables } = rows[0]!;
  if (!tables) return report('ok', 'rights', `${role} may use every table`);
  const grant = `grant receiver_service to ${role}`;
  const migrate = 'receiver migrate with the role of the owner';
  const fixes = {
    true: `Run ${migrate}`,
    false: `Run: ${grant}`,
    null: `Run: create role receiver_service; ${grant}. Then run ${migrate}`,
  };
  const fix = fixes[`${isMember}`];
  report('fail', 'rights', `${role} may not use ${tables.length} tables, such as ${tables[0]}. ${fix}`);
};

const checkWriting: DatabaseCheck = async ({ pool }, report) => {
  try {
    await probeInbox(pool);
    report('ok', 'writing', 'deliveries can be inserted');
  } catch (error) {
    const { code, message } = error as pg.DatabaseError;
    const holders = (await tryFindLockHolders(pool)) ?? [];
    const by = holders.filter(({ table }) => table === 'inbox').map(describeSession);
    const isLate = code === '57014' || /timeout/.test(message);
    const cause =
      (isReadOnly(error) && 'the database is read-only') ||
      (code === '42501' && 'a right is missing') ||
      (isLate && `inbox is locked${by.length > 0 ? `, by ${by.join(', ')}` : ''}`) ||
      (code ? describeRefusal(error) : message);
    report('fail', 'writing', `deliveries cannot be inserted: ${cause}`);
  }
};

const checkIndexes: DatabaseCheck = async ({ db }, report) => {
  const { rows } = await sql<{ name: string }>`
    select indexrelid::regclass::text as name from pg_index where not indisvalid`.execute(db);
  for (const { name } of rows) {
    const fix = `Unless it is being built: reindex index concurrently ${name}`;
    report('warn', 'indexes', `${name} is invalid. ${fix}`);
  }
};

const inBytes = (size: number) => bytes.format(size, { decimalPlaces: 1 });

/** How full the quarantine is, and what its limit has evicted. */
const checkQuarantine: DatabaseCheck = async ({ db }, report, { config }) => {
  const { rows: tables } = await sql`select where to_regclass('dropped_bodies') is not null`.execute(db);
  if (tables.length === 0) return; // a migration is missing, which is reported
  const { rows } = await sql<{ bytes: number }>`
    select coalesce(sum(bytes), 0)::float8 as bytes from quarantine where not acknowledged`.execute(db);
  const limit = await quarantineLimit(config.quarantine);
  const isCut = limit < config.quarantine.bytes;
  const size = `${inBytes(rows[0]!.bytes)} of ${inBytes(limit)}${isCut ? ', a tenth of the free disk' : ''}`;
  const dropped = await readDropped(db);
  const reasons = dropped.map(({ reason, bodies }) => `${reason}: ${bodies}`).join(', ');
  if (reasons === '') return report('ok', 'quarantine', size);
  const fix = 'Replay or drop what is there';
  const loss = `dropped in ${droppedDays} days before they were replayed: ${reasons}`;
  report('warn', 'quarantine', `${size}; ${loss}. ${fix}`);
};

/** Deliveries that wait or failed, and rejected bodies. */
const checkDeliveries: DatabaseCheck = async ({ pool }, report) => {
  const { received, failed, oldestPendingS, quarantine } = await readTables(pool);
  const rejected = [...quarantine.values()].reduce((sum, rows) => sum + rows, 0);
  const oldest = received > 0 ? `, the oldest for ${Math.round(oldestPendingS)} s` : '';
  const counts = `${received} wait${oldest}; ${failed} failed; ${rejected} rejected bodies`;
  if (oldestPendingS > lateS) report('fail', 'deliveries', counts);
  else if (failed > 0) report('warn', 'deliveries', `${counts}. To see why: receiver replay --dry-run`);
  else report('ok', 'deliveries', counts);
};

const checkProcessing: DatabaseCheck = async ({ pool }, report) => {
  const problems = await readProblems(pool);
  for (const { status, title, detail } of problems) report(status, 'processing', `${title}. ${detail}`);
  if (problems.length === 0)
    report('ok', 'processing', 'no delivery waits for more than a minute, and nothing blocks');
};

/** The checks of the tables, in the order of the report. */
export const tableChecks: readonly DatabaseCheck[] = [
  checkRights,
  checkMigrations,
  checkWriting,
  checkIndexes,
  checkDeliveries,
  checkProcessing,
  checkQuarantine,
  checkDestinations,
];
