import { useReceiverDatabase } from '../support/receiver-database.ts';
import { openApp, textOf, visitAs } from './support.ts';

const database = useReceiverDatabase();
const lake = { kind: 'clinic', id: 'c-9' };

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
