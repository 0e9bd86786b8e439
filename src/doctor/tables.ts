import { type Kysely, sql } from 'kysely';
import type pg from 'pg';
import { readTables } from '../metrics/read-tables.ts';
import { writeProbe } from '../store/circuits.ts';
import type { Database } from '../store/database.ts';
import { isReadOnly } from '../store/faults.ts';
import { compareMigrations } from '../store/migrate.ts';
import type { Tables } from '../store/tables.ts';
import type { Report, Subject } from './finding.ts';

type DatabaseCheck = (database: Database, report: Report, subject: Subject) => Promise<void>;

export async function hasTables(db: Kysely<Tables>): Promise<boolean> {
  const { rows } = await sql<{ exists: boolean }>`
    select to_regclass('receiver_migrations') is not null as exists`.execute(db);
  return rows[0]!.exists;
}

/** An empty database: whether the first start can create the tables. */
export const checkEmpty: DatabaseCheck = async ({ db }, report) => {
  const { rows } = await sql<{ may: boolean; role: string }>`
    select has_schema_privilege('public', 'create') and has_database_privilege(current_database(), 'create') as may,
      quote_ident(current_user) as role`.execute(db);
  const { may, role } = rows[0]!;
  if (may) report('ok', 'tables', 'there are none yet. The first start creates them');
  else
    report(
      'fail',
      'tables',
      `there are none yet, and ${role} may not create any. Run receiver migrate as the owner`,
    );
};

export const checkMigrations: DatabaseCheck = async ({ db }, report) => {
  const { pending, unknown } = await compareMigrations(db);
  if (unknown.length > 0) {
    report(
      'fail',
      'tables',
      `a newer version has run ${unknown.join(', ')}. Run that version or a later one`,
    );
  } else if (pending.length > 0) {
    report('warn', 'tables', `not yet run: ${pending.join(', ')}. The next start does, or receiver migrate`);
  } else report('ok', 'tables', 'those of this version');
};

/** What the role lacks on the tables of the service, and of the queue. */
export const checkRights: DatabaseCheck = async ({ db }, report, { config }) => {
  const schemas = ['public', 'withheld', ...(config.redisUrl ? [] : ['bullmq'])];
  const { rows } = await sql<{ schema: string; role: string; tables: string[] }>`
    select nspname as schema, quote_ident(current_user) as role, array_agg(relname::text order by relname) as tables
    from pg_class c join pg_namespace n on n.oid = relnamespace
    where relkind in ('r', 'p') and nspname = any(${schemas})
      and relowner = (select relowner from pg_class where oid = to_regclass('receiver_migrations'))
      and not (has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')
        and has_table_privilege(c.oid, 'insert') and has_table_privilege(c.oid, 'update') and has_table_privilege(c.oid, 'delete'))
    group by 1, 2 order by 1`.execute(db);
  if (rows.length === 0) report('ok', 'rights', 'those on every table');
  for (const { schema, role, tables } of rows) {
    const fix = `grant usage on schema ${schema} to ${role}; grant select, insert, update, delete on all tables in schema ${schema} to ${role}`;
    const some = `${tables[0]}${tables.length > 1 ? ` and ${tables.length - 1} more tables` : ''}`;
    report('fail', 'rights', `${role} may not read and write ${schema}.${some}. Run as the owner: ${fix}`);
  }
};

export const checkWriting: DatabaseCheck = async ({ pool }, report) => {
  try {
    await pool.query(writeProbe);
    report('ok', 'writing', 'deliveries can be inserted');
  } catch (error) {
    const { code, message } = error as pg.DatabaseError;
    const causes: [is: boolean, text: string][] = [
      [isReadOnly(error), 'the database is read-only'],
      [code === '42501', 'a right is missing'],
      [
        code === '57014' || /timeout/.test(message),
        `inbox is locked. To see who does: select * from pg_locks where relation = 'inbox'::regclass`,
      ],
    ];
    const cause = causes.find(([is]) => is)?.[1];
    if (!cause) throw error;
    report('fail', 'writing', `deliveries cannot be inserted: ${cause}`);
  }
};

export const checkIndexes: DatabaseCheck = async ({ db }, report) => {
  const { rows } = await sql<{ name: string }>`
    select indexrelid::regclass::text as name from pg_index where not indisvalid`.execute(db);
  for (const { name } of rows) {
    report(
      'warn',
      'indexes',
      `${name} is invalid. Unless it is being built: reindex index concurrently ${name}`,
    );
  }
};

const longS = 300;

/** What waits, failed or was rejected. */
export const checkDeliveries: DatabaseCheck = async ({ pool }, report) => {
  const { received, failed, oldestPendingS, quarantine } = await readTables(pool);
  const rejected = [...quarantine.values()].reduce((sum, rows) => sum + rows, 0);
  const oldest = received > 0 ? `, the oldest for ${Math.round(oldestPendingS)} s` : '';
  const counts = `${received} wait${oldest}; ${failed} failed; ${rejected} rejected bodies`;
  if (oldestPendingS > longS) {
    report('warn', 'deliveries', `${counts}. Start a worker (ROLE=all or worker), or read its log`);
  } else if (failed > 0) report('warn', 'deliveries', `${counts}. To see why: receiver replay --dry-run`);
  else report('ok', 'deliveries', counts);
};
