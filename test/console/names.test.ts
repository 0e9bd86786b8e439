import { useReceiverDatabase } from '../support/receiver-database.ts';
import { openApp, visitAs } from './support.ts';

const database = useReceiverDatabase();
const lake = { kind: 'clinic', id: 'c-9' };

it('an operator names an id that no record has yet, a viewer sees the name, and an empty name removes it', async () => {
  const { app } = openApp(database);
  const operator = await visitAs(app, database, ['operator']);
  const viewer = await visitAs(app, database, ['viewer']);
  const saved = await operator.post('/names?kind=clinic', { ...lake, alias: 'Lake Clinic' }).expect(303);
  expect(saved.headers.location).toBe('/console/names?kind=clinic#clinic-c-9');
  expect((await viewer.get('/names?text=lake')).text).toContain('Lake Clinic');
  expect((await viewer.get('/names?kind=doctor')).text).not.toContain('Lake Clinic');
  await viewer.post('/names', { ...lake, alias: '' }).expect(403);
  await operator.post('/names', { ...lake, alias: '' }).expect(303);
  expect((await viewer.get('/names')).text).not.toContain('c-9');
});
