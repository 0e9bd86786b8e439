import { useReceiverDatabase } from '../support/receiver-database.ts';
import { openApp, visitAs } from './support.ts';

const database = useReceiverDatabase();
const lake = { kind: 'clinic', id: 'c-9' };
const named = () => database.rows('select id, alias, updated_by from receiver.aliases order by id');

it('an operator names an id that no record has yet, a viewer sees the name, and an empty name removes it', async () => {
  const { app } = openApp(database);
  const operator = await visitAs(app, database, ['operator']);
  const viewer = await visitAs(app, database, ['viewer']);
  const saved = await operator
    .post('/names', { ...lake, was: '', alias: 'Lake Clinic', next: '/console/names?kind=clinic' })
    .expect(303);
  expect(saved.headers.location).toBe('/console/names?kind=clinic#clinic-c-9');
  expect((await viewer.get('/names?text=lake')).text).toContain('Lake Clinic');
  expect((await viewer.get('/names?kind=doctor')).text).not.toContain('Lake Clinic');
  await viewer.post('/names', { ...lake, was: 'Lake Clinic', alias: '' }).expect(403);
  await operator.post('/names', { ...lake, was: 'Lake Clinic', alias: '' }).expect(303);
  expect((await viewer.get('/names')).text).not.toContain('c-9');
});

it('of two who edit a name, the second is told of the change of the first', async () => {
  const { app } = openApp(database);
  const first = await visitAs(app, database, ['operator']);
  const second = await visitAs(app, database, ['operator', 'desk']);
  await first.post('/names', { ...lake, was: '', alias: 'Lake' }).expect(303);
  const { text } = await second.post('/names', { ...lake, was: '', alias: 'Lakeside' }).expect(400);
  expect(text).toContain('Not saved: subject-operator has changed this name to “Lake”');
  expect(await named()).toEqual([{ id: 'c-9', alias: 'Lake', updated_by: 'subject-operator' }]);
  await second.post('/names', { ...lake, was: 'Lake', alias: 'Lakeside' }).expect(303);
  // The same name by both is no conflict.
  await first.post('/names', { ...lake, was: 'Lake', alias: 'Lakeside' }).expect(303);
  expect(await named()).toEqual([{ id: 'c-9', alias: 'Lakeside', updated_by: 'subject-operator-desk' }]);
});
