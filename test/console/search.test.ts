import { receiptCallback } from '../support/callbacks.ts';
import { coreOf, storeAndMerge } from '../support/core.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { openApp, visitAs } from './support.ts';

const database = useReceiverDatabase();

it('what a search finds alone is opened: a patient, a record, a message, a clinic', async () => {
  const { app } = openApp(database);
  const person = (receipt_id: number, patient_oid: string, mobile: string, more = {}) =>
    receiptCallback({ data: { receipt_id, patient_oid, mobile, name: 'Asha Rao', ...more } });
  const [id] = await storeAndMerge(
    coreOf(database),
    person(1, '161234567890123', '9800008722', { receipt_number: 'JA-77' }),
    person(2, '161234567890123', '9800008722'),
    person(3, '161234567890124', '9800001111'),
  );
  await database.rows(
    `insert into receiver.aliases (kind, id, alias, updated_by) values ('clinic', 'c-1', 'Lake Clinic', '')`,
  );
  const visitor = await visitAs(app, database, ['desk']);
  const opened = async (text: string) =>
    (await visitor.get(`/search?q=${encodeURIComponent(text)}`)).headers.location?.replace('/console', '');
  expect(await opened('8722')).toMatch(/^\/patients\/[^/]+$/);
  expect(await opened('JA-77')).toMatch(/^\/records\/receipt\?.*id=1$/);
  expect(await opened(id!)).toBe(`/callbacks/${id}`);
  expect(await opened('lake')).toBe('/receipts?clinic=c-1');
  // The patient's id.
  expect(await opened('161234567890123')).toBe(await opened('8722'));
  for (const text of ['rao', 'nobody']) expect(await opened(text)).toBeUndefined();
});

it('places are found by words of an alias, also by those who may not name people', async () => {
  await database.rows(`insert into receiver.aliases (kind, id, alias, updated_by) values
    ('doctor', 'd1', 'Dr. Meera Rao', 'x'), ('clinic', 'c1', 'Jayanagar', 'x'), ('business', 'b1', '100% Care', 'x'),
    ('clinic', 'c2', null, 'x')`);
  const visitor = await visitAs(openApp(database).app, database, ['viewer']);
  const opened = async (text: string) =>
    (await visitor.get(`/search?q=${encodeURIComponent(text)}`)).headers.location?.split('?')[1];
  for (const text of ['meera', 'rao meera', 'dr rao', 'dr.rao']) expect(await opened(text)).toBe('doctor=d1');
  expect(await opened('nagar')).toBe('clinic=c1');
  expect(await opened('0% c')).toBe('business=b1');
  for (const text of ['', '.', '_', 'meera jayanagar']) expect(await opened(text)).toBeUndefined();
});
