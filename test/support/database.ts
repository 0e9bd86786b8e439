import { randomBytes } from 'node:crypto';
import { Kysely, PostgresDialect } from 'kysely';
import type pg from 'pg';
import type { Delivery } from '../../src/callbacks/delivery.ts';
import { createLog } from '../../src/common/log.ts';
import { insertDeliveries } from '../../src/receiver/store/insert-deliveries.ts';
import { openPool } from '../../src/receiver/store/pools.ts';
import type { Db, Tables } from '../../src/receiver/store/tables.ts';
import { queryOnce } from './query-once.ts';

export interface TestDatabase {
  url: string;
  pool: pg.Pool;
  db: Db;
  rows: (query: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;
  /** Counts the rows of a table, perhaps with a condition. */
  count: (from: string) => Promise<number>;
  /** Stores deliveries, of which some may be there. */
  store: (...deliveries: Delivery[]) => Promise<readonly string[]>;
  close: () => Promise<void>;
}

export const createEmptyDatabase = () => createFrom('template1');

/** A copy of a database that has no connections. */
export async function createFrom(template: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(`create database ${name} template ${template}`);
  return open(name);
}

/** Connects to a database as the receiver does. */
export function connect(url: string, connections = 20): Omit<TestDatabase, 'close'> {
  const pool = openPool(url, createLog('silent'), { name: 'test', connections, connectTimeoutMs: 60_000 });
  return {
    url,
    pool,
    db: new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }),
    rows: async (query, values = []) => (await pool.query(query, values)).rows,
    count: async (from) => (await pool.query(`select from ${from}`)).rowCount!,
    store: (...deliveries) => insertDeliveries(pool, deliveries, 60_000),
  };
}

function open(name: string): TestDatabase {
  const url = Object.assign(new URL(process.env.TEST_POSTGRES_URL!), { pathname: `/${name}` }).href;
  const database = connect(url);
  return {
    ...database,
    close: async () => {
      await database.pool.end();
      await administer(`drop database ${name} with (force)`);
    },
  };
}

/** Allows connections to the database, or forbids them and ends the existing ones: an outage. */
export async function allowConnections({ url }: Pick<TestDatabase, 'url'>, allowed: boolean): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await administer(`alter database ${name} with allow_connections ${allowed}`);
  if (allowed) return;
  await administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
}

/** @returns whether a session waits for a lock @param lock a condition on it */
export const isWaiting = async ({ count }: Pick<TestDatabase, 'count'>, lock = 'true') => {
  const own = 'select pid from pg_stat_activity where datname = current_database()';
  return (await count(`pg_locks where ${lock} and not granted and pid in (${own})`)) > 0;
};

/** Runs while a transaction holds what a statement locks, or has written. */
export async function whileLocked(
  { pool }: Pick<TestDatabase, 'pool'>,
  statement: string,
  run: () => Promise<unknown>,
): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(`begin; ${statement}`);
    await run();
  } finally {
    await client.query('rollback');
    client.release();
  }
}

/** A copy of a database on the same server, with its identity; connections to the original end. */
export async function createCopy(original: Pick<TestDatabase, 'url'>): Promise<TestDatabase> {
  await allowConnections(original, false);
  try {
    return await createFrom(new URL(original.url).pathname.slice(1));
  } finally {
    await allowConnections(original, true);
  }
}

const administer = (statement: string) => queryOnce(process.env.TEST_POSTGRES_URL!, statement);
