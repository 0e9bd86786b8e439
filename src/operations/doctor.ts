import type pg from 'pg';
import { InvalidConfiguration } from '../common/config/config.ts';
import { createLog, messageOf } from '../common/log.ts';
import type { Check, Core } from '../receiver/feature.ts';
import { makeUtf8 } from '../receiver/store/errors.ts';
import { openStores } from '../receiver/stores.ts';
import { readChecks, unreadable } from './read-checks.ts';

const minPostgres = 14;
const queryMs = 5_000;
const log = createLog('silent');

/** All checks as a receiver with this configuration would see them, and those of a start. Changes nothing. */
export async function diagnose(core: Core): Promise<Check[]> {
  const stores = await openStores(core.config, core.pool, log);
  try {
    const valid: Check = { name: 'configuration', status: 'ok', title: 'Each variable is valid', detail: '' };
    const server = await checkServer(core);
    const checks = await readChecks({ ...core, log, process: stores });
    // These need the tables.
    const left = server.status === 'warn' ? ['database', unreadable] : [];
    return [valid, server, ...checks.filter(({ name }) => !left.includes(name))];
  } finally {
    await stores.close();
  }
}

/** The faults that keep the checks from being read. */
export const checksOfError = (error: unknown): Check[] => {
  const faults = error instanceof InvalidConfiguration ? error.problems : [messageOf(error as Error)];
  return faults.map((title) => ({ name: 'configuration', status: 'fail', title, detail: '' }));
};

interface Server {
  version: string;
  number: number;
  isStandby: boolean;
  isSafe: boolean;
  encoding: string;
  hasTables: boolean;
}

const fault = (title: string, todo: string, detail = '') =>
  ({ name: 'server', status: 'fail', title, detail, todo }) as const;

async function checkServer({ pool }: Core): Promise<Check> {
  const text = `select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
    pg_is_in_recovery() as "isStandby", current_setting('fsync')::bool and current_setting('full_page_writes')::bool as "isSafe",
    to_regclass('receiver.inbox') is not null as "hasTables", current_setting('server_encoding') as encoding`;
  try {
    const { rows } = await pool.query<Server>({ text, query_timeout: queryMs });
    const { version, number, isStandby, isSafe, hasTables, encoding } = rows[0]!;
    if (number < minPostgres * 10_000)
      return fault(`PostgreSQL ${version} is too old`, `Upgrade it to ${minPostgres} or newer`);
    if (encoding !== 'UTF8') return fault(`The encoding of the database is ${encoding}, not UTF8`, makeUtf8);
    if (isStandby)
      return fault('It is a standby, which takes no writes', 'Point DATABASE_URL to the primary');
    if (!isSafe)
      return fault(
        'fsync or full_page_writes is off: a crash loses callbacks',
        'Switch both on in postgresql.conf',
      );
    const empty = fault('The database has no tables yet', 'Run receiver start, or receiver migrate');
    if (!hasTables) return { ...empty, status: 'warn' };
    return { name: 'server', status: 'ok', title: `PostgreSQL ${version}`, detail: '' };
  } catch (error) {
    const detail = messageOf(error as Error) || String((error as pg.DatabaseError).code);
    const todo = 'Start PostgreSQL, or correct DATABASE_URL: host, port, name, user, password';
    return fault('PostgreSQL cannot be used', todo, detail);
  }
}
