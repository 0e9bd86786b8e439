import { migrate } from '../../src/store/migrate.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createEmptyDatabase();
});
afterAll(() => database.close());

it('processes that migrate at once run each migration once', async () => {
  const results = await Promise.all(Array.from({ length: 4 }, () => migrate(database.db)));
  const names = results.flat();
  expect(names.length).toBeGreaterThan(0);
  expect(new Set(names).size).toBe(names.length);
  expect(await migrate(database.db)).toEqual([]);
});

it('a migration that fails changes nothing and is named', async () => {
  const other = await createEmptyDatabase();
  try {
    await other.pool.query('create table receipts (nothing int)');
    await expect(migrate(other.db)).rejects.toThrow(/0002_families/);
    expect(await other.rows(`select from pg_tables where tablename = 'deliveries'`)).toEqual([]);
  } finally {
    await other.close();
  }
});
