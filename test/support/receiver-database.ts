import type { Family } from '../../src/callbacks/families/family.ts';
import { families } from '../../src/callbacks/families/index.ts';
import { createLog } from '../../src/common/log.ts';
import { migrate } from '../../src/receiver/store/migrate.ts';
import { createFrom, type TestDatabase } from './database.ts';

export type ReceiverDatabase = TestDatabase;

/** What each database has of its own. */
const renew = `
  update receiver.settings set value = case name when 'identity' then gen_random_uuid()::text
    when 'salt' then concat(gen_random_uuid(), gen_random_uuid()) else right(gen_random_uuid()::text, 12) end
  where name in ('identity', 'salt', 'feed_epoch')`;

/** Of the documented families: a copy of the database that test/support/global-setup.ts has made. */
export async function createReceiverDatabase(list: readonly Family[] = families): Promise<ReceiverDatabase> {
  const template = list === families ? process.env.TEST_TEMPLATE : undefined;
  const database = await createFrom(template ?? 'template1');
  if (template) await database.rows(renew);
  else await migrate(database.db, list, createLog('silent'));
  return database;
}

/** One that is usable from the first test on, for all tests of the file, or a new one for each. */
export function useReceiverDatabase(per: 'file' | 'test' = 'file'): ReceiverDatabase {
  const database = {} as ReceiverDatabase;
  const [before, after] = per === 'file' ? [beforeAll, afterAll] : [beforeEach, afterEach];
  before(async () => {
    Object.assign(database, await createReceiverDatabase());
  });
  after(() => database.close());
  return database;
}
