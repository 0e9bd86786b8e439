import { recordSilence } from '../../src/operations/silence.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { openApp, visitAs } from './support.ts';

const database = useReceiverDatabase();

it('Today names a business of which nothing comes any more', async () => {
  const visitor = await visitAs(openApp(database).app, database, ['viewer']);
  // One an hour of each of two families, until nine days ago; another business goes on.
  await database.rows(`
    insert into receiver.inbox
    select gen_random_uuid(), family, 'e', '', business, n, '1', at, '{}', '{"data": {}}', null, at
    from unnest('{receipt,appointment}'::text[]) family, unnest('{gone,here}'::text[]) business, generate_series(1, 1000) n
    cross join lateral (select now() - (n * interval '1 hour' + case business when 'gone' then 9 else 0 end * interval '1 day')) t(at)`);
  expect((await visitor.get('/today')).text).not.toContain('has sent nothing');
  await recordSilence(database.db);
  const text = (await visitor.get('/today')).text.replace(/<[^>]*>/g, ' ');
  expect(text.match(/\S+\s+has sent nothing since/g)).toEqual([expect.stringMatching(/^gone /)]);
});
