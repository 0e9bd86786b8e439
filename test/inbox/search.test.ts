import type { Family } from '../../src/callbacks/families/family.ts';
import { families } from '../../src/callbacks/families/index.ts';
import { hidden, readableBody } from '../../src/callbacks/health-contents.ts';
import { describeMatch, search } from '../../src/inbox/find.ts';
import { readDelivery } from '../../src/inbox/list-deliveries.ts';
import { maskRow } from '../../src/inbox/mask.ts';
import { findRecord, readRecord } from '../../src/inbox/read-record.ts';
import { erasePatient } from '../../src/privacy/erase.ts';
import { identifyPatient } from '../../src/privacy/patient.ts';
import type { Core } from '../../src/receiver/feature.ts';
import { canary, canaryOf } from '../support/canary.ts';
import { coreOf, mergeAll, storeAndMerge } from '../support/core.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';

const database = useReceiverDatabase('test');
let core: Core;
beforeEach(() => {
  core = coreOf(database);
});

const now = Math.floor(Date.now() / 1000);
const actor = { id: 'somebody' };

const store = (...callbacks: object[]) => storeAndMerge(core, ...callbacks);
const callback = (event: string, data: object, secondsAgo = 0, business_id = 'b1') => ({
  ...{ event, event_time: now - secondsAgo, business_id },
  data,
});
const receipt = (receipt_id: number, data: object, business_id?: string) =>
  callback('receipt.created', { receipt_id, ...data }, receipt_id, business_id);
const searchAs = (text: string, mayNamePeople = true) => search(core, text, { actor, mayNamePeople });
const asha = { name: 'Asha Rao', patient_oid: 'P1', aid: 'a-1' };
/** What a search shows: patients as `p:platform:<id>`, records as `family id`. */
async function found(text: string, mayNamePeople = true): Promise<string[]> {
  const { persons, hits } = await searchAs(text, mayNamePeople);
  return [
    ...persons.flatMap(({ subjects }) => subjects),
    ...hits.map(({ family, recordId }) => `${family.name} ${recordId}`),
  ];
}

it('a search finds by an id of any kind, a phone number in any spelling, and words of a name', async () => {
  const devi = { name: { first_name: 'Rao', last_name: 'Devi' }, phone: 9876543210 };
  await store(
    receipt(1, { ...asha, mobile: '+91 98765-43210', receipt_number: 'R/7' }),
    receipt(2, { name: 'Ashok %', mobile: '09876543210', patient_oid: 'P2' }, 'b2'),
    callback('ipd_admissions.created', { id: 'adm', patient: devi }, 9),
    callback('appointment.created', { appointment_id: 'a-1', partner_patient_id: 'mine', patient_id: 'P1' }),
  );
  expect(await found('1')).toEqual(['receipt 1']);
  expect(await found('01')).toEqual(['receipt 1']);
  expect(await found('R/7')).toEqual(['receipt 1']);
  expect(await found('a-1')).toEqual(['appointment a-1']);
  expect(await found('P1')).toEqual([]);
  for (const text of ['9876543210', '+91 98765 43210', '(0) 98765.43210', '+919876543210'])
    expect(await found(text)).toEqual(['p:platform:P1', 'p:platform:P2', 'admission adm']);
  expect(await found('rao')).toEqual(['p:platform:P1', 'admission adm']);
  expect(await found('rao ash')).toEqual(['p:platform:P1']);
  expect(await found('sha')).toEqual([]);
  expect(await found('')).toEqual([]);
  const entries = await database.rows(`select filter from public.access_log where action = 'search'`);
  expect(entries).toContainEqual({ filter: { by: ['name'] } });
  expect(JSON.stringify(entries)).not.toMatch(/98765|rao|P1/i);
});

it('a search compares texts, not their bytes: other normal forms, digits and dashes, joiners', async () => {
  await store(
    receipt(1, { name: 'রড়\u09cdয়\u200d Rao', receipt_number: 'R\u20117' }),
    receipt(2, { name: 'রড\u09bc\u09cdয\u09bc Rao', receipt_number: 'R-8' }),
    callback('appointment.created', { appointment_id: 'caf\u00e9' }),
  );
  for (const text of ['রড়\u09cdয়', 'রড\u09bc\u09cdয\u09bc', 'র\u200cড়\u09cdয়'])
    expect(await found(text)).toEqual(['receipt 1', 'receipt 2']);
  expect(await found('R-7')).toEqual(['receipt 1']);
  for (const text of ['R\u20118', 'Ｒ-8', 'R-৮']) expect(await found(text)).toEqual(['receipt 2']);
  expect(await found('২')).toEqual(['receipt 2']);
  for (const text of ['cafe\u0301', 'caf\u00e9'])
    expect(await found(text)).toEqual(['appointment caf\u00e9']);
});

it('digits find the receipts whose printed number ends with them, before one with that internal id', async () => {
  await store(
    receipt(2671, { name: 'Ravi Reddy', receipt_number: 'JA-2484' }),
    receipt(31, { name: 'Lakshmi Das', receipt_number: 'JA-2671' }),
    receipt(30, { receipt_number: '12671' }),
    receipt(29, { receipt_number: 'JA-26712' }),
    receipt(28, { receipt_number: '2671' }),
  );
  const { hits } = await searchAs('2671');
  expect(hits.map((hit) => [hit.recordId, describeMatch(hit)])).toEqual([
    ['28', 'its number'],
    ['31', 'its number'],
    ['30', 'its number'],
    ['2671', 'internal id 2671'],
  ]);
  for (const text of ['JA-2671', 'ja-2671', 'JA2671', 'ja 2671', 'Ja/2671', 'JA\u20112671', 'ja২671'])
    expect([text, await found(text, false)]).toEqual([text, ['receipt 31']]);
  // The exact number, then the shortest.
  expect(await found('12671')).toEqual(['receipt 30']);
  for (const text of ['A-2671', 'a2671', 'A 2671']) expect((await found(text))[0]).toBe('receipt 31');
  for (const text of ['-', 'JB2671', 'A-267']) expect(await found(text)).toEqual([]);
});

it('a number that ends with letters is found by any end of it, the exact one before a longer one', async () => {
  await store(
    receipt(1, { receipt_number: 'X-JA-2671/B' }),
    receipt(2, { receipt_number: 'JA-2671-b' }),
    receipt(3, { receipt_number: 'ja.2671' }),
  );
  expect(await found('ja 2671 B')).toEqual(['receipt 2', 'receipt 1']);
  expect(await found('671b')).toEqual(['receipt 2', 'receipt 1']);
  expect(await found('(B')).toEqual([]);
});

const person = (receipt_id: number, patient_oid: string | undefined, mobile: string, data: object = {}) =>
  receipt(receipt_id, { patient_oid, mobile, name: `Name ${receipt_id}`, ...data });

it('persons come first, one for each patient id, with what the newest record calls them', async () => {
  await store(
    person(3, 'P1', '9833212345', { net_amount: 900, amount_paid: 700 }),
    person(1, 'P1', '+91 98332 12345', { net_amount: 300.5, amount_paid: 100 }),
    person(2, 'P2', '+919833212345', { net_amount: 50, amount_paid: 50 }),
    person(4, 'P1', '1', { net_amount: 7, amount_paid: 0, receipt_status: 'FAILED' }),
    { ...person(5, 'P1', '1'), event: 'receipt.deleted' },
    person(6, 'P1', '1', { net_amount: 10, amount_paid: 8 }),
    receipt(6, { patient_oid: 'P1', mobile: '1', net_amount: 10, amount_paid: 9 }, 'b2'),
    person(7, undefined, '9833212345'),
  );
  const { persons, hits } = await searchAs('98332 12345');
  const found = (n: number, phone: string) => ({
    ...{ by: 'phone', subjects: [`p:platform:P${n}`], name: `Name ${n}`, phone },
    ...{ businessId: 'b1', at: new Date((now - n) * 1000) },
  });
  expect(persons).toMatchObject([found(1, '+91 98332 12345'), found(2, '+919833212345')]);
  expect(hits.map(({ recordId }) => recordId)).toEqual(['7']);
});

it('the last four to nine digits of a phone number find its person, in digits of any script', async () => {
  const booked = { billing: { name: 'Asha', phone: '9833218722' }, patient: { id: 'P5' } };
  await store(
    person(1, 'P1', '+91 98332-18722'),
    person(2, 'P2', '९८३३२१८७२२'),
    person(3, 'P3', '9833287220'),
    person(4, 'P4', '9832210022 '),
    callback('booking.init', { order_id: 'o', ...booked }, 9),
  );
  for (const text of ['8722', '18722', '218722', '833218722', '८७२२', '8-722', '9833218722', '+919833218722'])
    expect([text, await found(text)]).toEqual([text, ['p:platform:P1', 'p:platform:P2', 'p:platform:P5']]);
  expect(await found('0022')).toEqual(['p:platform:P4']);
  for (const text of ['722', '98722', '0833218722']) expect([text, await found(text)]).toEqual([text, []]);
  expect(await found('8722', false)).toEqual([]);
});

it('a name is found by its words in any order and script, with any punctuation', async () => {
  const names = [
    'Dr. Asha Rao',
    'राव, आशा',
    'Seán O’Brien-Smith',
    'M/s D Souza (late)',
    'Raoul Dasha',
    'Lata DMello',
    'Twin 1 of Asha',
    'Rao & Sons',
  ];
  await store(...names.map((name, n) => person(n, `P${n}`, '1', { name })));
  const expected = {
    0: ['rao asha', 'ASHA RAO', 'dr rao', 'dr.rao', 'Rao, Asha', 'as ra dr'],
    1: ['राव आशा', 'आशा राव', 'आशा, राव'],
    2: ["o'brien", 'o brien', 'obrien', 'smith o’brien', 'brien', 'obriensmith', 'o.brien', 'sean', 'SEÁN'],
    3: ["d'souza", 'd souza', 'late souza', 'ms souza'],
    5: ["d'mello", 'dmello lata'],
    6: ['Twin 1 of Asha', 'asha १'],
    7: ['rao & sons', 'rao sons'],
  };
  for (const [n, texts] of Object.entries(expected))
    for (const text of texts) expect([text, await found(text)]).toEqual([text, [`p:platform:P${n}`]]);
  for (const text of ['ao', 'sha', 'rao smith', 'r_o', 'ra%'])
    expect([text, await found(text)]).toEqual([text, []]);
});

it('a name of any length is stored, and found by its beginning', async () => {
  for (const [n, letter] of ['x', '\ufdfa', '\u{20000}'].entries())
    await store(person(n, `P${n}`, '1', { name: letter.repeat(60_000) }));
  expect(await found('xxxx')).toEqual(['p:platform:P0']);
  expect(await found('\u{20000}'.repeat(99))).toEqual(['p:platform:P2']);
});

it('a record of a person is listed too where its number was found, and a search says where there is more', async () => {
  await store(
    person(1, 'P1', '9800008722', { receipt_number: 'JA-8722' }),
    person(2, 'P1', '9800008722', { receipt_number: 'JA-1' }),
  );
  expect(await found('8722')).toEqual(['p:platform:P1', 'receipt 1']);
  await store(...Array.from({ length: 101 }, (_, n) => person(10 + n, `Q${n}`, '9811111111')));
  const { persons, hits, isCut } = await searchAs('9811111111');
  expect([persons.length, hits.length, isCut]).toEqual([100, 0, true]);
});

it('the entry of a search has the patients of all persons and records that it shows, each once', async () => {
  await store(
    person(1, 'P1', '9811111111'),
    person(2, 'P2', '9811111111'),
    person(3, undefined, '9811111111'),
  );
  await searchAs('9811111111');
  const entries = await database.rows(`
    select subjects = array(select receiver.hash_of('p:platform:' || p) from unnest('{P1,P2}'::text[]) p) as all, rows, filter
    from public.access_log`);
  expect(entries).toEqual([{ all: true, rows: 3, filter: { by: ['phone'] } }]);
  await database.rows('alter table public.access_log rename to gone');
  await expect(searchAs('9811111111')).rejects.toThrow('could not be written');
});

it('a record with an id is listed beside any number of records whose printed numbers end with it', async () => {
  await store(
    ...Array.from({ length: 110 }, (_, n) => receipt(1000 + n, { receipt_number: `A-${n}777` })),
    receipt(777, { receipt_number: 'A-7' }),
  );
  const { hits, isCut } = await searchAs('777', false);
  expect([hits[0]!.number, hits.at(-1)!.recordId, isCut]).toEqual(['A-0777', '777', true]);
});

it('an erased person is found nowhere', async () => {
  const [first] = await store(
    receipt(1, { ...asha, mobile: '9876543210' }),
    callback('abha.created', { abha_address: 'asha@abdm', oid: 'P1' }),
  );
  expect(await found('asha@abdm')).toEqual(['health_account asha@abdm']);
  await erasePatient(core, actor, await identifyPatient(core, actor, ['P1']));
  await mergeAll(core);
  for (const text of ['P1', '9876543210', 'asha', 'Asha Rao', 'asha@abdm', first!])
    expect(await found(text)).toEqual([]);
  expect(await found('1')).toEqual(['receipt 1']);
  const page = await readRecord(core, (await findRecord(core, 'receipt', 'b1', '1'))!);
  expect(page!.versions).toMatchObject([{ isReduced: true, status: 'applied' }]);
  expect(JSON.stringify(page)).not.toMatch(/asha|98765|P1/i);
});

it('who may not name people sees no personal value of any family, and searches by nothing personal', async () => {
  for (const family of families as readonly Family[]) {
    const patient = { id: 'CANARY-P', name: canary, entries: ['CONTENT'] };
    const callback = canaryOf(family, { data: { patient, Entries: 'CONTENT' } });
    const [id] = await store({ ...callback, more: canary });
    const delivery = (await readDelivery(core, id!))!;
    const { business_id: businessId, record_id: recordId } = delivery;
    const { row, versions } = (await readRecord(core, { family, businessId, recordId }))!;
    const shown = JSON.stringify(maskRow(row!, family));
    expect(shown).not.toMatch(/CANARY|CONTENT/);
    expect(versions).toHaveLength(1);
    const revealed = readableBody(delivery.body);
    expect(revealed).toContain('CANARY');
    expect(revealed).not.toContain('CONTENT');
    const listed = await searchAs(recordId, false);
    expect(JSON.stringify(listed)).not.toContain('CANARY');
  }
  for (const text of ['CANARY', 'CANARY-P', 'CANARY abha_address', 'CANARY mobile'])
    expect(await found(text, false)).toEqual([]);
  expect(await database.rows('select from access_log')).toEqual([]);
  expect(readableBody('{"event": "abha", "entries": "CONTENT')).toBe(`{"event": "abha", "${hidden}`);
  expect(readableBody('{"text": "{\\"entries\\": 1}"}')).not.toContain('1');
});
