import type { Family } from '../../src/callbacks/families/family.ts';
import { families } from '../../src/callbacks/families/index.ts';
import { createLog } from '../../src/common/log.ts';
import { migrate } from '../../src/receiver/store/migrate.ts';
import { createEmptyDatabase, type TestDatabase } from './database.ts';

export type ReceiverDatabase = TestDatabase;

export async function createReceiverDatabase(list: readonly Family[] = families): Promise<ReceiverDatabase> {
  const database = await createEmptyDatabase();
  await migrate(database.db, list, createLog('silent'));
  return database;
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
