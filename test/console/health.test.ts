import { useReceiverDatabase } from '../support/receiver-database.ts';
import { openApp, visitAs } from './support.ts';

const database = useReceiverDatabase();

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
