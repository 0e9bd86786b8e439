import type { Config } from '../config/config.ts';
import { maxConnections } from '../config/pool-sizes.ts';
import type { Database } from '../store/database.ts';
import type { ReportFinding } from './finding.ts';

const [oldest, newest] = [14, 18];

interface ServerFacts {
  version: string;
  major: number;
  standby: boolean;
  read_only: boolean;
  role: string;
  database: string;
  superuser: boolean;
  fsync: string;
  full_page_writes: string;
  autovacuum: string;
  /** Settings because of which the server's log contains the values of statements. */
  logs_values: string | null;
  /** Pages that the server has found damaged; null without checksums. */
  damaged: number | null;
  /** Connections that this role can have, and those of all that are in use. */
  slots: number;
  used: number;
}

export async function readServer({ pool }: Database): Promise<ServerFacts> {
  const { rows } = await pool.query<ServerFacts>(`
      select current_setting('server_version') as version, current_setting('server_version_num')::int / 10000 as major,
        pg_is_in_recovery() as standby, current_setting('default_transaction_read_only')::bool as read_only,
        quote_ident(current_user) as role, quote_ident(current_database()) as database, current_setting('is_superuser')::bool as superuser,
        current_setting('fsync') as fsync, current_setting('full_page_writes') as full_page_writes,
        current_setting('autovacuum') as autovacuum,
        (select string_agg(name || ' = ' || current_setting(name), ', ' order by name) from unnest(
           case when current_setting('log_parameter_max_length', true) is distinct from '0'
             then array['log_min_duration_statement', 'log_min_duration_sample', 'log_statement'] end) as name
         where current_setting(name) not in ('-1', 'none', 'ddl')) as logs_values,
        (select sum(checksum_failures)::int from pg_stat_database) as damaged,
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
          - coalesce(current_setting('reserved_connections', true)::int, 0) as slots,
        (select sum(numbackends)::int from pg_stat_database) as used`);
  return rows[0]!;
}

export function judgeServer(facts: ServerFacts, config: Config, report: ReportFinding): void {
  const { version, major, role } = facts;
  report('ok', 'database', `PostgreSQL ${version}`);
  const reset = (owner: string) => `alter ${owner} reset default_transaction_read_only`;
  const switchOn = (name: string) => `Run: alter system set ${name} = on; select pg_reload_conf()`;
  const fails = [
    major < oldest && `PostgreSQL ${version} is too old. Upgrade it to ${oldest} or newer`,
    facts.standby && 'it is a standby, and takes no writes. Point DATABASE_URL to the primary',
    facts.read_only &&
      `read-only by default. Run: ${reset(`role ${role}`)}; ${reset(`database ${facts.database}`)}`,
    facts.fsync !== 'on' && `fsync is off: a crash loses data. ${switchOn('fsync')}`,
    facts.full_page_writes !== 'on' &&
      `full_page_writes is off: a crash may damage data. ${switchOn('full_page_writes')}`,
    (facts.damaged ?? 0) > 0 &&
      `pages with a wrong checksum were read ${facts.damaged} times: a disk or memory damages data. Read the server's log, keep former backups, and move to other hardware`,
  ];
  const warnings = [
    major > newest && `PostgreSQL ${version} is newer than those that were tested: ${oldest} to ${newest}`,
    facts.autovacuum !== 'on' &&
      `autovacuum is off: the tables grow, and become slow. ${switchOn('autovacuum')}`,
    facts.logs_values !== null &&
      `${facts.logs_values}: the server's log contains the values of statements, and so patients' data, which no erasure removes. Run: alter system set log_parameter_max_length = 0; select pg_reload_conf()`,
    facts.superuser &&
      config.databaseUrl !== undefined &&
      `${role} is a superuser. A role that owns the database is enough: alter role ${role} nosuperuser`,
  ];
  for (const text of fails) if (text) report('fail', 'database', text);
  for (const text of warnings) if (text) report('warn', 'database', text);
  const isScarce = facts.slots - facts.used < maxConnections;
  const advice = `. A process opens up to ${maxConnections}: raise max_connections`;
  const connections = `${facts.used} of ${facts.slots} are in use`;
  report(isScarce ? 'warn' : 'ok', 'connections', isScarce ? connections + advice : connections);
}
