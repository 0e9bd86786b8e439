import type { Database } from '../store/database.ts';
import type { Report, Subject } from './finding.ts';

const oldest = 14;
const newest = 18;
/** How many connections one process opens: four pools, BullMQ's two, and those of a migration. */
const connectionsOfProcess = 24;

export interface ServerFacts {
  version: string;
  major: number;
  isStandby: boolean;
  isReadOnly: boolean;
  role: string;
  isSuperuser: boolean;
  fsync: string;
  fullPageWrites: string;
  autovacuum: string;
  /** Connections for this role, and how many are in use. */
  slots: number;
  used: number;
  /** Whether a pooler is between: its processes have other ids than the server's. */
  isPooled: boolean;
}

export async function readServer({ pool }: Database): Promise<ServerFacts> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<Omit<ServerFacts, 'isPooled'> & { pid: number }>(`
      select current_setting('server_version') as version, current_setting('server_version_num')::int / 10000 as major,
        pg_is_in_recovery() as "isStandby", current_setting('default_transaction_read_only') = 'on' as "isReadOnly",
        quote_ident(current_user) as role, current_setting('is_superuser') = 'on' as "isSuperuser",
        current_setting('fsync') as fsync, current_setting('full_page_writes') as "fullPageWrites",
        current_setting('autovacuum') as autovacuum,
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
          - coalesce(current_setting('reserved_connections', true)::int, 0) as slots,
        (select sum(numbackends)::int from pg_stat_database) as used, pg_backend_pid() as pid`);
    const { pid, ...facts } = rows[0]!;
    return { ...facts, isPooled: (client as { processID?: number | null }).processID !== pid };
  } finally {
    client.release();
  }
}

export function judgeServer(facts: ServerFacts, { config }: Pick<Subject, 'config'>, report: Report): void {
  const { version, major, isStandby, isReadOnly, role, isSuperuser, slots, used } = facts;
  if (major < oldest)
    report('fail', 'database', `PostgreSQL ${version} is too old. Upgrade it to ${oldest} or newer`);
  else if (major > newest)
    report('warn', 'database', `PostgreSQL ${version} is newer than what was tested (${newest})`);
  else report('ok', 'database', `PostgreSQL ${version}`);
  if (isStandby) report('fail', 'database', 'this is a standby. Point DATABASE_URL to the primary');
  else if (isReadOnly) {
    report(
      'fail',
      'database',
      `read-only. Run: alter role ${role} reset default_transaction_read_only; likewise for the database`,
    );
  }
  for (const [name, setting] of [
    ['fsync', facts.fsync],
    ['full_page_writes', facts.fullPageWrites],
  ] as const) {
    if (setting === 'on') continue;
    const fix = `alter system set ${name} = on; select pg_reload_conf()`;
    report('fail', 'database', `${name} is off: a crash may lose or damage data. Run: ${fix}`);
  }
  if (facts.autovacuum !== 'on') {
    report(
      'warn',
      'database',
      'autovacuum is off: tables and reports become slow. Run: alter system set autovacuum = on; select pg_reload_conf()',
    );
  }
  // The embedded server has no other role.
  if (isSuperuser && config.databaseUrl) {
    report(
      'warn',
      'database',
      `${role} is a superuser. A role that owns the database is enough: alter role ${role} nosuperuser`,
    );
  }
  if (facts.isPooled) report('ok', 'pooler', 'a pooler is between');
  const free = slots - used;
  const connections = `${used} of ${slots} connections are in use`;
  if (free >= connectionsOfProcess) report('ok', 'connections', connections);
  else
    report(
      'warn',
      'connections',
      `${connections}. A process of the service opens up to ${connectionsOfProcess}: raise max_connections`,
    );
}
