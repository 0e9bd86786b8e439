import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { sql } from 'kysely';
import { createLog } from '../common/log.ts';
import { InvalidConfiguration } from '../config/config.ts';
import { readId, requireSameDatabase } from '../service/prepare-database.ts';
import { DatabaseClient } from '../store/client.ts';
import { type Database, openDatabase } from '../store/database.ts';
import { installed } from '../store/embedded/cluster.ts';
import { refuseMoved } from '../store/embedded/moved.ts';
import { findHome } from '../store/embedded/place.ts';
import { findServer } from '../store/embedded/server.ts';
import { explainConnection } from '../store/explain-connection.ts';
import { requireUtf8 } from '../store/migrate.ts';
import { checkTimezone } from '../store/reporting/settings.ts';
import type { Db } from '../store/tables.ts';
import { judgeServer, readServer } from './database-server.ts';
import { checkFallback, checkLease } from './fallback.ts';
import { type Check, type ReportFinding, runEach, type Subject } from './finding.ts';
import { checkClock } from './machine.ts';
import { checkReconciliation } from './platform.ts';
import { checkEmpty, hasTables, tableChecks } from './tables.ts';

const log = createLog('silent');

/** PostgreSQL: whether it can be used, the server, the database and its tables. */
export const checkDatabase: Check = async (subject, report) => {
  const { config } = subject;
  const url = await findDatabase(subject, report);
  if (!url) return;
  await withDatabase('DATABASE_URL', url, subject, report, async (database) => {
    const { db } = database;
    judgeServer(await readServer(database), config, report);
    const exists = await hasTables(db);
    const forTables = exists
      ? [...tableChecks, checkReconciliation, checkLease, checkFallback]
      : [checkEmpty];
    return [
      () => checkClock('PostgreSQL', () => readTime(db), report),
      () => requireUtf8(db),
      () => checkTimezone(db, config.reportTimezone),
      ...forTables.map((check) => () => check(database, report, subject)),
    ];
  });
};

/** The address without the connection pooler: whether it is of the same database. */
export const checkDirectDatabase: Check = async (subject, report) => {
  const { databaseUrl, directDatabaseUrl } = subject.config;
  if (!databaseUrl || !directDatabaseUrl) return;
  await withDatabase('DIRECT_DATABASE_URL', directDatabaseUrl, subject, report, async (direct) => {
    report('ok', 'direct database', 'accepts connections');
    const isSame = async () => requireSameDatabase(databaseUrl, await readId(direct.db), { name }, log);
    return (await hasTables(direct.db)) ? [isSame] : [];
  });
};

const name = 'receiver doctor';

/** Connects, and runs the checks that a function returns. */
async function withDatabase(
  variable: string,
  url: string,
  subject: Subject,
  report: ReportFinding,
  prepare: (database: Database) => Promise<(() => Promise<void>)[]>,
): Promise<void> {
  const explained = (error: unknown) => explain(error, variable, url, subject);
  // Less than the time limit of a check, which would otherwise give up before it.
  const timeouts = { queryTimeoutMs: 3_000, connectTimeoutMs: 5_000 };
  const database = openDatabase(url, log, { connections: 2, name, ...timeouts });
  const connected = async () => runEach('database', await prepare(database), explained, report);
  await runEach('database', [connected], explained, report);
  // Not awaited: a server that hangs must not delay the other findings.
  void database.close().catch(() => {});
}

/** The URL of the database; of the embedded one only while it runs: a start would change its files. */
async function findDatabase(
  { config, invalid }: Subject,
  report: ReportFinding,
): Promise<string | undefined> {
  if (config.databaseUrl || invalid.has('DATABASE_URL')) return config.databaseUrl;
  const home = findHome(config.dataDir);
  if (home && findServer(join(home, 'database'))) {
    return readFileSync(join(home, 'connection-url'), 'utf8').trim();
  }
  if (home) refuseMoved(home);
  await installed(); // or else its error says what to do
  const state = home
    ? 'is not running. While the receiver runs, it is checked, too'
    : 'does not exist yet. The first start creates it';
  report('ok', 'database', `the embedded PostgreSQL in ${resolve(config.dataDir)} ${state}`);
  return undefined;
}

async function readTime(db: Db): Promise<number> {
  const { rows } = await sql<{ ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`.execute(db);
  return rows[0]!.ms;
}

function explain(error: unknown, variable: string, url: string, { redact }: Subject): readonly string[] {
  if (error instanceof InvalidConfiguration) return error.problems;
  const message = redact(error instanceof Error ? error.message : String(error));
  const { host, port, user, database } = new DatabaseClient({ connectionString: url });
  const target = { variable, store: 'PostgreSQL', host, port, user, database } as const;
  return [explainConnection(error, target) ?? message];
}
