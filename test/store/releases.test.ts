import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { migrate } from '../../src/store/migrate.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { ownSchema, readCatalogue, withSchema } from '../support/schema.ts';

// A copy of db/ as of each release.
const releases = join(import.meta.dirname, 'releases');

/** The differences between a database upgraded from one state of db/ to another and a new one. */
async function compare(from: string, to: string) {
  const upgraded = await createEmptyDatabase();
  const fresh = await createEmptyDatabase();
  try {
    await migrate(upgraded.db, undefined, from);
    await migrate(upgraded.db, undefined, to);
    await migrate(fresh.db, undefined, to);
    const [lines, expected] = [await readCatalogue(upgraded), await readCatalogue(fresh)];
    expect(expected.length).toBeGreaterThan(100);
    return {
      missing: expected.filter((line) => !lines.includes(line)),
      additional: lines.filter((line) => !expected.includes(line)),
    };
  } finally {
    await upgraded.close();
    await fresh.close();
  }
}

it.each(readdirSync(releases))('an upgraded database of release %s equals a new one', async (release) => {
  expect(await compare(join(releases, release), ownSchema)).toEqual({ missing: [], additional: [] });
});

describe('a difference is found', () => {
  it('if a released migration was edited', async () => {
    const released = { 'migrations/9001_more.sql': 'create table more (id int);' };
    const edited = {
      'migrations/9001_more.sql': 'create table more (id int); create index more_id on more (id);',
    };
    await withSchema(released, (from) =>
      withSchema(edited, async (to) => {
        const { missing, additional } = await compare(from, to);
        expect(missing).toEqual([expect.stringContaining('index | more_id')]);
        expect(additional).toEqual([]);
      }),
    );
  });

  it('if a view was removed and no migration drops it', async () => {
    await withSchema(
      { 'reporting/9_more.sql': 'create or replace view reporting.more as select;' },
      async (from) => {
        const { missing, additional } = await compare(from, ownSchema);
        expect(missing).toEqual([]);
        expect(additional).toContainEqual(expect.stringContaining('view | reporting.more'));
      },
    );
  });
});
