import { readFileSync } from 'node:fs';
import { families } from '../../../src/families/index.ts';
import { samples } from '../../support/callbacks.ts';
import { useDatabase } from '../../support/database.ts';
import { apply } from '../../support/deliveries.ts';

const database = useDatabase();
beforeAll(async () => {
  const business_id = '111111111111110';
  const now = Math.floor(Date.now() / 1000);
  const data = { created_at: now, admission_date: now };
  await apply(
    database,
    families.map(({ name }) => samples[name]({ business_id, event_time: now, data })),
  );
});

const document = readFileSync('docs/reporting.md', 'utf8');
const examples = Array.from(
  document.matchAll(/\*\*(.*)\*\*\n\n```sql\n((?:select|with)[\s\S]*?)```/g),
  (found) => [found[1]!, found[2]!],
);

it('docs/reporting.md has examples', () => {
  expect(examples.length).toBe(8);
});

it.each(examples)('the example "%s" runs', async (_title, query) => {
  await database.rows(query);
});

it('the table of docs/reporting.md lists every view', async () => {
  const views = await database.rows(`select viewname as view from pg_views where schemaname = 'reporting'`);
  const listed = Array.from(document.matchAll(/^\| `(\w+)` +\|/gm), ([, view]) => view!);
  expect(listed.sort()).toEqual(views.map(({ view }) => view).sort());
});
