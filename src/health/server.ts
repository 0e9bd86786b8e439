import { describeSession, type Session } from '../store/lock-holders.ts';
import type { Problem } from './problem.ts';

const old = `interval '10 minutes'`;
/** Where it cannot be read when a transaction began, its age is counted in transactions. */
const oldTransactions = 100_000;
/** PostgreSQL stops at 2.1 billion; autovacuum does what it can from 1.6 billion on. */
const lateAge = 1_500_000_000;
const earlyAge = 500_000_000;
const farBehindBytes = 10 * 2 ** 30;

export interface DatabaseAge {
  database: string;
  what: 'transaction' | 'multixact';
  age: number;
  /** The setting of autovacuum for this age. */
  freezeMaxAge: number;
}

const columns = { transaction: 'age(datfrozenxid)', multixact: 'mxid_age(datminmxid)' };

export const agesQuery = `
select datname as database, 'transaction' as what, age(datfrozenxid)::float8 as age,
  current_setting('autovacuum_freeze_max_age')::float8 as "freezeMaxAge" from pg_database
union all
select datname, 'multixact', mxid_age(datminmxid), current_setting('autovacuum_multixact_freeze_max_age')::float8
from pg_database order by 1, 2`;

/** Databases whose oldest ids are so old that autovacuum has not kept up: writes of the whole server end in the end. */
export function judgeAges(rows: readonly DatabaseAge[]): Problem[] {
  return rows
    .filter(({ age, freezeMaxAge }) => age > lateAge || age > Math.max(earlyAge, 1.5 * freezeMaxAge))
    .map(({ database, what, age }) => ({
      kind: 'wraparound',
      subject: `${database} ${what}`,
      status: age > lateAge ? 'fail' : 'warn',
      title: `Database ${database} comes close to the wraparound of ${what} ids`,
      detail: `The oldest is ${Math.round(age / 1e6)} million old, by ${columns[what]} in pg_database; at 2100 million PostgreSQL accepts no writes. Remove what holds old rows (sessions, prepared transactions, replication slots), then vacuum`,
    }));
}

export const unloggedQuery = `
select oid::regclass::text as "table" from pg_class
where relpersistence = 'u' and relkind in ('r', 'p')
  and relnamespace in (to_regnamespace(current_schema()), to_regnamespace('withheld')) order by 1`;

/** Tables that somebody has set `unlogged`: after a crash PostgreSQL empties them, and standbys have no rows of them. */
export function judgeUnlogged(rows: readonly { table: string }[]): Problem[] {
  return rows.map(({ table }) => ({
    kind: 'unlogged',
    subject: table,
    status: 'fail',
    title: `Table ${table} is unlogged`,
    detail: `A crash of PostgreSQL deletes all its rows, and standbys and backups lack them. Run: alter table ${table} set logged`,
  }));
}

export const hiddenQuery = `
select oid::regclass::text as "table" from pg_class
where relkind in ('r', 'p') and row_security_active(oid)
  and relnamespace in (to_regnamespace(current_schema()), to_regnamespace('withheld')) order by 1`;

/** Tables of which row security hides rows from this role, or refuses them. */
export function judgeHidden(rows: readonly { table: string }[]): Problem[] {
  return rows.map(({ table }) => ({
    kind: 'row security',
    subject: table,
    status: 'fail',
    title: `Row security restricts table ${table}`,
    detail: `It may hide deliveries, or refuse them. Run as its owner: alter table ${table} disable row level security; or: alter role … bypassrls`,
  }));
}

export interface PreparedTransaction {
  gid: string;
  role: string;
  database: string;
  since: Date;
}

export const preparedQuery = `
select gid, owner as role, database, prepared as since from pg_prepared_xacts
where prepared < now() - ${old} order by prepared`;

export function judgePrepared(rows: readonly PreparedTransaction[]): Problem[] {
  return rows.map(({ gid, role, database, since }) => ({
    kind: 'prepared transaction',
    subject: gid,
    status: 'warn',
    title: `Prepared transaction ${gid} is forgotten`,
    detail: `Of role ${role} in database ${database}, since ${since.toISOString()}. It holds its locks, and old rows. Run there: rollback prepared, or commit prepared`,
  }));
}

export interface Slot {
  name: string;
  active: boolean;
  /** `reserved`, `extended`, `unreserved` or `lost`; null: it keeps nothing. */
  walStatus: string | null;
  behindBytes: number | null;
  /** Null before PostgreSQL 17. */
  inactiveSince: Date | null;
}

export const slotsQuery = `
select slot_name as name, active, wal_status as "walStatus",
  pg_wal_lsn_diff(case when pg_is_in_recovery() then pg_last_wal_receive_lsn() else pg_current_wal_lsn() end, restart_lsn)::float8
    as "behindBytes",
  (to_jsonb(s)->>'inactive_since')::timestamptz as "inactiveSince"
from pg_replication_slots s
where not active and coalesce((to_jsonb(s)->>'inactive_since')::timestamptz < now() - ${old}, true)
   or wal_status in ('unreserved', 'lost')
   or pg_wal_lsn_diff(case when pg_is_in_recovery() then pg_last_wal_receive_lsn() else pg_current_wal_lsn() end, restart_lsn) > ${farBehindBytes}
order by slot_name`;

/** Slots that nobody reads, or that are far behind: PostgreSQL keeps WAL, and old rows, for them. */
export function judgeSlots(rows: readonly Slot[]): Problem[] {
  return rows.map(({ name, active, walStatus, behindBytes, inactiveSince }) => {
    const since = inactiveSince ? ` since ${inactiveSince.toISOString()}` : '';
    const behind = behindBytes === null ? '' : `, ${Math.round(behindBytes / 2 ** 20)} MiB behind`;
    const state = `${active ? 'Active' : `Inactive${since}`}${behind}, WAL ${walStatus ?? 'not kept'}`;
    return {
      kind: 'replication slot',
      subject: name,
      status: 'warn',
      title: active ? `Replication slot ${name} is behind` : `Nobody reads replication slot ${name}`,
      detail: `${state}. It may fill the disk and keeps old rows. Start its standby, or drop it: select pg_drop_replication_slot('${name}')`,
    };
  });
}

export interface OldSession extends Session {
  /** The age of its oldest snapshot, in transactions. */
  age: number;
}

// Vacuum's own snapshots hold nothing. Sessions of other databases hold no rows of this one; a walsender has no database.
export const sessionsQuery = `
select pid, application_name as application, usename as role, xact_start as since, age::float8 as age
from pg_stat_activity, lateral (select greatest(age(backend_xmin), age(backend_xid))) as oldest (age)
where age is not null and (datname is null or datname = current_database()) and pid <> pg_backend_pid()
  and pid not in (select pid from pg_stat_progress_vacuum)
  and coalesce(xact_start < now() - ${old}, age > ${oldTransactions})
order by age desc`;

/** Sessions for which PostgreSQL keeps every row that was deleted since they began, so that all scans become slow. */
export function judgeSessions(rows: readonly OldSession[]): Problem[] {
  return rows.map((session) => ({
    kind: 'old session',
    subject: String(session.pid),
    status: 'warn',
    title: `Session ${session.pid} keeps PostgreSQL from removing deleted rows`,
    detail: `${describeSession(session)}: its snapshot is ${session.age} transactions old. Once it is no longer needed: select pg_terminate_backend(${session.pid})${
      session.since ? '' : '. To see since when: grant pg_read_all_stats to the role of DATABASE_URL'
    }`,
  }));
}
