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
    .post('/names', { ...lake, was: '', alias: 'Lake Clinic', filter: 'kind=clinic' })
    .expect(303);
  expect(saved.headers.location).toBe('/console/names?kind=clinic#clinic-c-9');
  expect((await viewer.get('/names?text=lake')).text).toContain('Lake Clinic');
  expect((await viewer.get('/names?kind=doctor')).text).not.toContain('Lake Clinic');
  await viewer.post('/names', { ...lake, was: 'Lake Clinic', alias: '' }).expect(403);
  const health = await operator
    .post('/names', { ...lake, was: 'Lake Clinic', alias: '', page: 'health' })
    .expect(303);
  expect(health.headers.location).toBe('/console/health');
  expect((await viewer.get('/names')).text).not.toContain('c-9');
});

it('of two who edit a name, the second is told of the change of the first, and decides', async () => {
  const { app } = openApp(database);
  const first = await visitAs(app, database, ['operator']);
  const second = await visitAs(app, database, ['operator', 'desk']);
  await first.post('/names', { ...lake, was: '', alias: 'Lake' }).expect(303);
  const { text } = await second.post('/names', { ...lake, was: '', alias: 'Lakeside' }).expect(409);
  for (const shown of ['Nothing was saved', 'subject-operator has changed', 'Lake', 'Lakeside'])
    expect(text).toContain(shown);
  expect(await named()).toEqual([{ id: 'c-9', alias: 'Lake', updated_by: 'subject-operator' }]);
  const hidden = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(text)![1]!;
  expect([hidden('was'), hidden('alias')]).toEqual(['Lake', 'Lakeside']);
  await second.post('/names', { ...lake, was: 'Lake', alias: 'Lakeside' }).expect(303);
  // The same name by both is no conflict.
  await first.post('/names', { ...lake, was: 'Lake', alias: 'Lakeside' }).expect(303);
  expect(await named()).toEqual([{ id: 'c-9', alias: 'Lakeside', updated_by: 'subject-operator-desk' }]);
});
