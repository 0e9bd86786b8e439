import { useReceiverDatabase } from '../support/receiver-database.ts';
import { openApp, visitAs } from './support.ts';

const database = useReceiverDatabase();

it('Health lists ids without a name, and who is signed in to those who may end their sessions', async () => {
  const { app } = openApp(database);
  await database.rows(`
    insert into receipts (business_id, receipt_id, clinic_id, created_at, client_id, last_event, event_time, delivery_id)
    values ('b1', 1, 'clinic-without-name', now(), 'c', 'receipt.created', now(), gen_random_uuid())`);
  await database.rows(`
    insert into receiver.inbox (id, family, event, client_id, business_id, record_id, version, event_time, subjects, envelope, received_at)
    values (gen_random_uuid(), 'receipt', 'receipt.created', 'c', 'b1', '1', '1', now(), '{}', '{}', now())`);
  const viewer = await visitAs(app, database, ['viewer']);
  const officer = await visitAs(app, database, ['privacy']);
  const { text } = await viewer.get('/health').expect(200);
  expect(text).toContain('clinic-without-name');
  expect(text).not.toContain('Who is signed in');
  expect((await officer.get('/health')).text).toContain('subject-viewer');
  await officer.post('/sessions/end', { user: 'subject-viewer' }).expect(303);
  await viewer.get('/health').expect(401);
  const written = await database.rows('select action from public.access_log order by entry');
  expect(written.map(({ action }) => action)).toEqual(['sessions end']);
});
