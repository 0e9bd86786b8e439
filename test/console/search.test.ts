import { receiptCallback, samples } from '../support/callbacks.ts';
import { coreOf, storeAndMerge } from '../support/core.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { openApp, textOf, visitAs } from './support.ts';

const database = useReceiverDatabase();

it('what a search finds alone is opened: a patient, a record, a message, a clinic', async () => {
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
  const visitor = await visitAs(openApp(database).app, database, ['desk']);
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

it('a patient’s id is found beside the number of a receipt, and so is each patient whose id it may be', async () => {
  const core = coreOf(database);
  const booking = (business_id: string) =>
    samples.appointment({
      business_id,
      data: { patient_id: `of-${business_id}`, partner_patient_id: '1001' },
    });
  await storeAndMerge(
    core,
    receiptCallback({ data: { receipt_id: 5, patient_oid: 'stranger', receipt_number: 'JA-1001' } }),
    booking('b1'),
  );
  const visitor = await visitAs(openApp(database).app, database, ['desk']);
  const shown = async (text: string) => textOf((await visitor.get(`/search?q=${text}`).expect(200)).text);
  const page = await shown('1001');
  expect(page).toContain('JA-1001');
  expect(page).toContain('No name, partner:b1:1001');
  await storeAndMerge(core, booking('b2'));
  expect(await shown('1001')).toMatch(/partner:b1:1001.*partner:b2:1001/);
  const [entry] = await database.rows(
    'select cardinality(subjects) as patients from public.access_log order by entry desc limit 1',
  );
  expect(entry).toEqual({ patients: 2 });
});

it('one patient who is found by the phone and by the id is opened', async () => {
  await storeAndMerge(
    coreOf(database),
    receiptCallback({ data: { receipt_id: 6, patient_oid: '9800007777', mobile: '9800007777' } }),
  );
  const visitor = await visitAs(openApp(database).app, database, ['desk']);
  const { headers } = await visitor.get('/search?q=9800007777').expect(303);
  expect(headers.location).toMatch(/^\/console\/patients\/[^/]+$/);
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
