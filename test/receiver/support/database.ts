import { Kysely, PostgresDialect } from 'kysely';
import { createLog } from '../../../src/common/log.ts';
import type { Family } from '../../../src/receiver/families/family.ts';
import { families } from '../../../src/receiver/families/index.ts';
import { migrate } from '../../../src/receiver/store/migrate.ts';
import type { Db, Tables } from '../../../src/receiver/store/tables.ts';
import { createEmptyDatabase, type TestDatabase } from '../../support/database.ts';

export interface ReceiverDatabase extends Omit<TestDatabase, 'db'> {
  db: Db;
}

/** A new database with the tables of the new path. */
export async function createReceiverDatabase(list: readonly Family[] = families): Promise<ReceiverDatabase> {
  const database = await createEmptyDatabase();
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: database.pool }) });
  await migrate(db, list, createLog('silent'));
  return { ...database, db };
}

/** One that is usable from the first test on, for all tests of the file, or a new one for each. */
export function useReceiverDatabase(
  per: 'file' | 'test' = 'file',
  list?: readonly Family[],
): ReceiverDatabase {
  const database = {} as ReceiverDatabase;
  const [before, after] = per === 'file' ? [beforeAll, afterAll] : [beforeEach, afterEach];
  before(async () => {
    Object.assign(database, await createReceiverDatabase(list));
  });
  after(() => database.close());
  return database;
}
