import { describeSession, type Session } from '../store/lock-holders.ts';
import { defineCheck, unreadable } from './problem.ts';

/** What holds deleted rows for longer is a problem. Where it cannot be read since when, its age is counted in transactions. */
export const old = { seconds: 600, transactions: 100_000, unclearTransactions: 1_000 };
const oldTime = () => `now() - interval '${old.seconds} s'`;
/** PostgreSQL stops at 2.1 billion; autovacuum does what it can from 1.6 billion on. */
const lateAge = 1_500_000_000;
const earlyAge = 500_000_000;
const farBehindBytes = 10 * 2 ** 30;

const ofStandby =
  'Its hot_standby_feedback reports the oldest query there: end that, or switch the setting off there';

const columns = { transaction: 'age(datfrozenxid)', multixact: 'mxid_age(datminmxid)' };

/** Databases whose oldest ids are so old that autovacuum has not kept up: writes of the whole server end in the end. */
export const ages = defineCheck<{
  database: string;
  what: 'transaction' | 'multixact';
  age: number;
  freezeMaxAge: number;
}>(
  `
select datname as database, 'transaction' as what, ${columns.transaction}::float8 as age,
  current_setting('autovacuum_freeze_max_age')::float8 as "freezeMaxAge" from pg_database
union all
select datname, 'multixact', ${columns.multixact}, current_setting('autovacuum_multixact_freeze_max_age')::float8
from pg_database order by 1, 2`,
  ({ database, what, age, freezeMaxAge }) => {
    if (age <= lateAge && age <= Math.max(earlyAge, 1.5 * freezeMaxAge)) return undefined;
    return {
      kind: 'wraparound',
      subject: `${database} ${what}`,
      status: age > lateAge ? 'fail' : 'warn',
      title: `Database ${database} comes close to the wraparound of ${what} ids`,
      detail: `The oldest is ${Math.round(age / 1e6)} million old, by ${columns[what]} in pg_database; at 2100 million PostgreSQL accepts no writes. Remove what holds old rows (sessions, prepared transactions, replication slots), then vacuum`,
    };
  },
);

const tables = (condition: string) => `
select oid::regclass::text as "table" from pg_class
where relkind in ('r', 'p') and ${condition}
  and relnamespace in (to_regnamespace(current_schema()), to_regnamespace('withheld')) order by 1`;

/** Tables that somebody has set `unlogged`: after a crash PostgreSQL empties them, and standbys have no rows of them. */
export const unlogged = defineCheck<{ table: string }>(tables(`relpersistence = 'u'`), ({ table }) => ({
  kind: 'unlogged',
  subject: table,
  status: 'fail',
  title: `Table ${table} is unlogged`,
  detail: `A crash of PostgreSQL deletes all its rows, and standbys and backups lack them. Run: alter table ${table} set logged`,
}));

/** Tables of which row security hides rows from this role, or refuses them. */
export const rowSecurity = defineCheck<{ table: string }>(
  tables('row_security_active(oid)'),
  ({ table }) => ({
    kind: 'row security',
    subject: table,
    status: 'fail',
    title: `Row security restricts table ${table}`,
    detail: `It may hide deliveries, or refuse them. Run as its owner: alter table ${table} disable row level security; or: alter role … bypassrls`,
  }),
);

export const prepared = defineCheck<{
  gid: string;
  literal: string;
  role: string;
  database: string;
  since: Date;
}>(
  () => `
select gid, quote_literal(gid) as literal, owner as role, database, prepared as since from pg_prepared_xacts
where prepared < ${oldTime()} order by prepared`,
  ({ gid, literal, role, database, since }) => ({
    kind: 'prepared transaction',
    subject: gid,
    status: 'warn',
    title: `Prepared transaction ${gid} is forgotten`,
    detail: `Of role ${role} in database ${database}, since ${since.toISOString()}. It holds its locks, and keeps PostgreSQL from removing deleted rows. Run there: rollback prepared ${literal}; or: commit prepared ${literal}`,
  }),
);

/**
 * Slots that nobody reads, or that are far behind: PostgreSQL keeps WAL, and old rows, for them. With
 * `hot_standby_feedback`, that of a standby also holds the rows that the oldest query there sees.
 */
export const slots = defineCheck<{
  name: string;
  active: boolean;
  /** `reserved`, `extended`, `unreserved` or `lost`; null: it keeps nothing. */
  walStatus: string | null;
  behindBytes: number | null;
  /** The age of the oldest rows that it keeps, in transactions: of all tables, and of the system's; null: none. */
  rowsAge: number | null;
  catalogAge: number | null;
  /** Null before PostgreSQL 17. */
  inactiveSince: Date | null;
}>(
  () => `
select slot_name as name, active, wal_status as "walStatus", "behindBytes", "inactiveSince",
  age(xmin)::float8 as "rowsAge", age(catalog_xmin)::float8 as "catalogAge"
from pg_replication_slots s, lateral (
  select (to_jsonb(s)->>'inactive_since')::timestamptz as "inactiveSince",
    pg_wal_lsn_diff(
      case when pg_is_in_recovery() then pg_last_wal_receive_lsn() else pg_current_wal_lsn() end, restart_lsn
    )::float8 as "behindBytes"
) as state
where not active and coalesce("inactiveSince" < ${oldTime()}, true)
   or wal_status in ('unreserved', 'lost') or "behindBytes" > ${farBehindBytes} or age(xmin) > ${old.transactions}
order by slot_name`,
  ({ name, active, walStatus, behindBytes, rowsAge, catalogAge, inactiveSince }) => {
    const since = inactiveSince ? ` since ${inactiveSince.toISOString()}` : '';
    const behind = behindBytes === null ? '' : `, ${Math.round(behindBytes / 2 ** 20)} MiB behind`;
    const rows = rowsAge === null ? '' : `, xmin ${rowsAge} transactions old`;
    const catalog = catalogAge === null ? '' : `, catalog_xmin ${catalogAge} transactions old`;
    const state = `${active ? 'Active' : `Inactive${since}`}${behind}, WAL ${walStatus ?? 'not kept'}${rows}${catalog}`;
    const drop = `select pg_drop_replication_slot('${name}')`;
    if (active && (rowsAge ?? 0) > old.transactions) {
      return {
        kind: 'replication slot',
        subject: name,
        status: 'warn',
        title: `The standby of replication slot ${name} keeps PostgreSQL from removing deleted rows`,
        detail: `${state}. ${ofStandby}`,
      };
    }
    return {
      kind: 'replication slot',
      subject: name,
      status: 'warn',
      title: active ? `Replication slot ${name} is behind` : `Nobody reads replication slot ${name}`,
      detail: `${state}. It may fill the disk and keeps old rows. Start its standby, or drop it: ${drop}`,
    };
  },
);

/** A session that holds deleted rows. */
interface OldSession extends Session {
  /** The age of its oldest snapshot, in transactions. */
  age: number;
  /** Whether it sends WAL to a standby, or to a subscriber. */
  isStandby: boolean;
}

const advice = 'To see since when: grant pg_read_all_stats to the role of DATABASE_URL';

/**
 * Sessions for which PostgreSQL keeps every row that was deleted since they began, so that all scans become slow. Vacuum's own
 * snapshots hold nothing. Sessions of other databases hold no rows of this one; a walsender has no database, and no
 * transaction. Other roles' ages are visible to everybody, the rest may be null.
 */
const holders = (condition: string) => `
select pid, application_name as application, usename as role, xact_start as since, host(client_addr) as address, state,
  age::float8 as age, pid in (select pid from pg_stat_replication) as "isStandby"
from pg_stat_activity, lateral (select greatest(age(backend_xmin), age(backend_xid))) as oldest (age)
where age is not null and (datname is null or datname = current_database()) and pid <> pg_backend_pid()
  and pid not in (select pid from pg_stat_progress_vacuum) and ${condition}
order by age desc`;

export const sessions = defineCheck<OldSession>(
  () => holders(`coalesce(xact_start < ${oldTime()}, age > ${old.transactions})`),
  (session) => {
    if (session.isStandby) {
      return {
        kind: 'old session',
        subject: String(session.pid),
        status: 'warn',
        title: `The standby ${session.application || 'of an unknown name'} keeps PostgreSQL from removing deleted rows`,
        detail: `${describeSession(session)}: its snapshot is ${session.age} transactions old. ${ofStandby}`,
      };
    }
    return {
      kind: 'old session',
      subject: String(session.pid),
      status: 'warn',
      title: `Session ${session.pid} keeps PostgreSQL from removing deleted rows`,
      detail: `${describeSession(session)}: its snapshot is ${session.age} transactions old. Once it is no longer needed: select pg_terminate_backend(${session.pid})${session.since ? '' : `. ${advice}`}`,
    };
  },
);

/** Sessions of which it cannot be said whether they are old. For a check by a person: most of them end soon. */
export const unclearSessions = defineCheck<OldSession>(
  () => holders(`xact_start is null and age between ${old.unclearTransactions} and ${old.transactions}`),
  (session) => ({
    ...unreadable(`start of session ${session.pid}`, advice),
    detail: `${describeSession(session)}: its snapshot is ${session.age} transactions old, and keeps PostgreSQL from removing deleted rows. ${advice}`,
  }),
);

/** Sums of reports that a check found wrong. */
export const wrongSums = defineCheck<{ count: number }>(
  'select count(*)::int as count from wrong_sums having count(*) > 0',
  ({ count }) => ({
    kind: 'wrong sums',
    subject: '',
    status: 'warn',
    title: 'Sums of reports were wrong',
    detail: `Those of ${count} days differed from their rows when the worker checked some; table wrong_sums names them. They were made again. Run \`receiver reports check\`, then \`receiver reports rebuild\`, which ends this message`,
  }),
);
