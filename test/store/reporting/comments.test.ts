import { useDatabase } from '../../support/database.ts';

const database = useDatabase();

it('every view and every column of the reports has a comment', async () => {
  const withoutComment = await database.rows(`
    select c.relname as view, a.attname as column
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
    where c.relnamespace = 'reporting'::regnamespace
      and (obj_description(c.oid, 'pg_class') is null or col_description(c.oid, a.attnum) is null)`);
  expect(withoutComment).toEqual([]);
});

it('every function of the reports has a comment', async () => {
  const withoutComment = await database.rows(`
    select proname from pg_proc
    where pronamespace = 'reporting'::regnamespace and obj_description(oid, 'pg_proc') is null`);
  expect(withoutComment).toEqual([]);
});
