import { useDatabase } from '../../support/database.ts';

const database = useDatabase();

it('every view and every function of the reports has a comment', async () => {
  const withoutComment = await database.rows(`
    select relname as name from pg_class
    where relnamespace = 'reporting'::regnamespace and relkind = 'v' and obj_description(oid, 'pg_class') is null
    union all
    select proname from pg_proc
    where pronamespace = 'reporting'::regnamespace and obj_description(oid, 'pg_proc') is null`);
  expect(withoutComment).toEqual([]);
});

it('each comment of a column is that of a column', async () => {
  const [about] = await database.rows(
    `select col_description(attrelid, attnum) as comment from pg_attribute
     where attrelid = 'reporting.schedule'::regclass and attname = 'day'`,
  );
  expect(about).toEqual({ comment: 'The day on which it begins' });
});
