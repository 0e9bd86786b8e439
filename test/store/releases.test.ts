import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { migrate } from '../../src/store/migrate.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { ownSchema, readCatalogue, withSchema } from '../support/schema.ts';

// A copy of db/ as of each release.
const releases = join(import.meta.dirname, 'releases');

/** What differs between a database that was brought from one state of db/ to another, and a new one. */
async function compare(from: string, to: string) {
  const stepped = await createEmptyDatabase();
  const fresh = await createEmptyDatabase();
  try {
    await migrate(stepped.db, undefined, from);
    await migrate(stepped.db, undefined, to);
    await migrate(fresh.db, undefined, to);
    const [inSteps, anew] = [await readCatalogue(stepped), await readCatalogue(fresh)];
    expect(anew.length).toBeGreaterThan(100);
    return {
      missing: anew.filter((line) => !inSteps.includes(line)),
      left: inSteps.filter((line) => !anew.includes(line)),
    };
  } finally {
    await stepped.close();
    await fresh.close();
  }
}

it.each(readdirSync(releases))(
  'a database of release %s that is brought up to date is like a new one',
  async (release) => {
    expect(await compare(join(releases, release), ownSchema)).toEqual({ missing: [], left: [] });
  },
);

describe('a difference is found', () => {
  it('where something was added to a migration that had been released', async () => {
    const released = { 'migrations/9001_more.sql': 'create table more (id int);' };
    const edited = {
      'migrations/9001_more.sql': 'create table more (id int); create index more_id on more (id);',
    };
    await withSchema(released, (from) =>
      withSchema(edited, async (to) => {
        const { missing, left } = await compare(from, to);
        expect(missing).toEqual([expect.stringContaining('index | more_id')]);
        expect(left).toEqual([]);
      }),
    );
  });

  it('where a view went that no migration drops', async () => {
    await withSchema(
      { 'reporting/9_more.sql': 'create or replace view reporting.more as select;' },
      async (from) => {
        const { missing, left } = await compare(from, ownSchema);
        expect(missing).toEqual([]);
        expect(left).toContainEqual(expect.stringContaining('view | reporting.more'));
      },
    );
  });
});
