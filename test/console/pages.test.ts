import { recordSilence } from '../../src/operations/silence.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { openApp, textOf, visitAs } from './support.ts';

const database = useReceiverDatabase();
const lake = { kind: 'clinic', id: 'c-9' };

it('Health shows who is signed in to those who may end their sessions', async () => {
  const { app } = openApp(database);
  const viewer = await visitAs(app, database, ['viewer']);
  const officer = await visitAs(app, database, ['privacy']);
  const { text } = await viewer.get('/health').expect(200);
  expect(text).not.toContain('Who is signed in');
  expect((await officer.get('/health')).text).toContain('subject-viewer');
  await officer.post('/sessions/end', { user: 'subject-viewer' }).expect(303);
  await viewer.get('/health').expect(401);
  const written = await database.rows('select action from public.access_log order by entry');
  expect(written.map(({ action }) => action)).toEqual(['sessions end']);
});

it('an operator names an id that no record has yet, a viewer sees the name, and an empty name removes it', async () => {
  const { app } = openApp(database);
  const operator = await visitAs(app, database, ['operator']);
  const viewer = await visitAs(app, database, ['viewer']);
  const saved = await operator.post('/names', { ...lake, alias: 'Lake Clinic' }).expect(303);
  expect(saved.headers.location).toBe('/console/names#clinic-c-9');
  expect((await viewer.get('/names')).text).toContain('Lake Clinic');
  await viewer.post('/names', { ...lake, alias: '' }).expect(403);
  await operator.post('/names', { ...lake, seen: 'Lake Clinic', alias: '' }).expect(303);
  expect((await viewer.get('/names')).text).not.toContain('c-9');
});

it('of two people who edit a name, the second is told, and overwrites nothing', async () => {
  const operator = await visitAs(openApp(database).app, database, ['operator']);
  await operator.post('/names', { ...lake, alias: 'Lake Clinic' }).expect(303);
  const late = await operator.post('/names', { ...lake, alias: 'Hill Clinic' }).expect(400);
  expect(textOf(late.text)).toContain('somebody has made it “Lake Clinic” meanwhile');
  await operator.post('/names', { ...lake, seen: 'Lake Clinic', alias: 'Hill Clinic' }).expect(303);
  expect((await operator.get('/names')).text).toContain('value="Hill Clinic"');
});

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
