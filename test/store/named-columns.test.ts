import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();

const star =
  /\b(?:select|returning|distinct)\s+\*|\b[a-z]+\.\*(?=[\s,;)`])|selectAll|returningAll|%rowtype|\blike \w+ including/gi;
const comment = /--.*|\/\/ .*|\/\*\*[\s\S]*?\*\//g;
const starsIn = (text: string) => text.replace(comment, '').match(star) ?? [];

/** Where the columns are named by something else, or all are meant. */
const exceptions: Record<string, string[]> = {
  'src/alerts/alert-store.ts': ['select *'], // of a list of expressions
  'src/intake/list-deliveries.ts': ['select *'], // of a query that names them
  'src/search/lookups.ts': ['found.*', 'select *'], // of queries that name them
  'src/search/find.ts': ['found.*'], // of a query that names them
  'src/reports/summed-rows.ts': ['select *'], // of views
  'src/search/record.ts': ['select *', 'made.*'], // in a query that names them
  'src/privacy/delete-deliveries.ts': ['existing.*'], // a row as JSON
  'src/diagnostics/tables.ts': ['select *'], // an advice
  'src/store/lock-holders.ts': ['select *'], // an advice
  'src/privacy/refold.ts': ['select *', 'again.*'], // of queries that name them
  'src/privacy/export.ts': ['select *', 'made.*'], // everything that is held
  'src/store/reporting/daily-sums.ts': ['select *'], // of a view
  'src/store/reporting/wrong-sums.ts': ['select *', 't.*'], // of views
  'db/reporting/1_activity_sums.sql': ['select *'], // of a view
  'db/reporting/1_receipts.sql': ['select *', 'r.*'], // of views
  'db/reporting/2_appointments.sql': ['select *'], // of a view
  'db/reporting/3_deliveries.sql': ['select *'], // of a view
};

it('SQL names the columns of tables: a * that is no exception would break with the first foreign column', () => {
  const files = ['src', 'db/reporting', 'db/migrations'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(({ name }) => /\.(sql|tsx?)$/.test(name))
      .map(({ parentPath, name }) => join(parentPath, name)),
  );
  const found = files
    .filter((file) => !file.startsWith('db/migrations/000')) // released: see the next test
    .flatMap((file) => starsIn(readFileSync(file, 'utf8')).map((found) => [file, found] as const))
    .filter(([file, found]) => !exceptions[file]?.includes(found));
  expect(found).toEqual([]);
});

it('nor does a function of a released migration that is still in use', async () => {
  const functions = await database.rows(`
    select proname, prosrc from pg_proc where pronamespace::regnamespace::text in ('public', 'reporting')`);
  const found = functions.flatMap(({ proname, prosrc }) => {
    const stars = starsIn(String(prosrc));
    return stars.length > 0 ? [[proname, stars]] : [];
  });
  expect(found).toEqual([]);
});
