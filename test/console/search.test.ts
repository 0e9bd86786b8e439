import fc from 'fast-check';
import { sql } from 'kysely';
import { families } from '../../src/families/index.ts';
import { lookupsOf, searchQuery } from '../../src/search/lookups.ts';
import { readByIndexes } from '../../src/search/read-by-indexes.ts';
import type { Role } from '../../src/sign-in/rights.ts';
import { updateTerms } from '../../src/store/search-terms.ts';
import {
  appointmentCallback,
  appointmentData,
  consentFormCallback,
  paths,
  receiptCallback,
  samples,
} from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { type PlanNode, rowsRead } from '../support/plans.ts';
import { post } from '../support/service.ts';
import { useConsole } from './use-console.ts';
import { type Visitor, visitAs } from './visitor.ts';

const { database, service, logged } = useConsole();
const users = {} as Record<Role, Visitor>;
const business = receiptCallback().business_id;
let deliveries: string[];
let body: string;

const receipt = (receipt_id: number, data: object = {}) =>
  receiptCallback({ data: { receipt_id, aid: '', ...data } });
const updateAllTerms = async () => {
  while ((await updateTerms(database.db)).hasMore);
};

beforeAll(async () => {
  for (const role of ['viewer', 'privacy'] as const) users[role] = await visitAs(service.url, role);
  deliveries = await apply(database, [
    receipt(7, { receipt_number: 'R-7', mobile: '+919876543210', name: 'Meera Rao', patient_oid: 'p7' }),
    receipt(8, { receipt_number: 'R-8', mobile: '09811111111', name: 'meera_iyer', patient_oid: 'p8' }),
    receipt(9, { receipt_number: 'R-8', mobile: '98111 11111', name: 'Asha', patient_oid: 'p9' }),
    appointmentCallback(),
    consentFormCallback(),
    samples.admission(),
    samples.prescription(),
  ]);
  await updateAllTerms();
  await post(service.url + paths.receipt, '<html>');
  body = String((await database.rows('select id from quarantine'))[0]!.id);
});

const find = (role: Role, q: string) => users[role].get(`/search?${new URLSearchParams({ q })}`);
const record = (family: string, id: string) =>
  `/console/records/${family}?${new URLSearchParams({ business, id })}`;
/** What a search leads to: a page, or the links of a list. */
async function found(role: Role, q: string) {
  const response = await find(role, q);
  if (response.status === 303) return response.headers.get('location');
  const text = await response.text();
  const main = text.slice(text.indexOf('<main'));
  return Array.from(main.matchAll(/href="(\/console\/[^"]*)"/g), ([, href]) =>
    href!.replaceAll('&amp;', '&'),
  );
}
const entriesAfter = (entry: unknown) =>
  database.rows(
    `select action, filter, rows::int,
            array(select patient_id from patient_pseudonyms p where p.pseudonym = any(l.patients) order by 1) as patients
     from access_log l where entry > $1 order by entry`,
    [entry],
  );
const lastEntry = async () =>
  (await database.rows('select coalesce(max(entry), 0) as entry from access_log'))[0]!.entry;

it('one exact match opens its page, whatever id it is', async () => {
  const ids: [string, string][] = [
    ['7', record('receipt', '7')],
    [' R-7 ', record('receipt', '7')],
    [deliveries[0]!, `/console/deliveries/${deliveries[0]}`],
    [body, `/console/quarantine/${body}`],
    [appointmentData.appointment_id, record('appointment', appointmentData.appointment_id)],
    ['mc-1', record('consent_form', 'mc-1')],
    ['adm-1', record('admission', 'adm-1')],
    ['rx-1', record('prescription', 'rx-1')],
  ];
  const before = await lastEntry();
  for (const [q, page] of ids) {
    expect([q, await found('viewer', q)]).toEqual([q, page]);
    expect((await fetch(service.url + page, { headers: { cookie: users.viewer.cookie } })).status).toBe(200);
  }
  expect(await entriesAfter(before)).toEqual([]);
});

it('several matches are a list; where there is none, the page says what was searched', async () => {
  expect(await found('viewer', 'R-8')).toEqual([record('receipt', '9'), record('receipt', '8')].sort());
  const text = await (await find('viewer', 'R-none')).text();
  expect(text).toMatch(
    /Nothing was found. Searched: ids, receipt number.*Names, patients and parts of phone/,
  );
  expect(await (await find('viewer', '')).text()).toContain('Enter a receipt number');
});

it.each(['+91 98765 43210', '9876543210', '09876543210', '+91-98765-43210', '(0091) 98765.43210'])(
  'the phone number %s finds the receipt, and the entry of the access log has the patient alone',
  async (q) => {
    const before = await lastEntry();
    expect(await found('viewer', q)).toBe(record('receipt', '7'));
    expect(await entriesAfter(before)).toEqual([
      { action: 'search', filter: { by: 'phone' }, rows: 1, patients: ['p7'] },
    ]);
  },
);

it('any word of a name is found by its beginning, for the role privacy alone', async () => {
  const before = await lastEntry();
  expect(await found('viewer', 'meera')).toEqual([]);
  expect(await entriesAfter(before)).toEqual([]);
  const seven = record('receipt', '7');
  for (const [q, pages] of [
    ['MEERA', [record('receipt', '8'), seven]],
    ['rao', [seven]],
    ['Rao M', [seven]],
    ['iyer meera', [record('receipt', '8')]],
    // No wildcard.
    ['meera_', []],
  ] as const)
    expect([q, [...((await found('privacy', q)) ?? [])].sort()]).toEqual([q, [...pages].sort()]);
  expect((await entriesAfter(before)).map(({ filter, patients }) => [filter, patients])).toEqual([
    [{ by: 'name' }, ['p7', 'p8']],
    [{ by: 'name' }, ['p7']],
    [{ by: 'name' }, ['p7']],
    [{ by: 'name' }, ['p8']],
  ]);
});

it('admissions and bookings are found by a word of the name and by the phone number, in any spelling', async () => {
  await apply(database, [
    samples.admission({
      data: {
        id: 'adm-2',
        pid: 'p51',
        patient: { name: { first_name: 'Zoya', last_name: 'Menon' }, phone: '98000 51515' },
      },
    }),
    samples.booking({
      data: {
        order_id: 'o-2',
        billing: { name: 'Zoya Menon', phone: '+919800051515' },
        patient: { id: 'p52' },
      },
    }),
    samples.booking({ data: { order_id: 'o-3', billing: 'Zoya', patient: { name: 7, phone: ['x'] } } }),
  ]);
  const both = [record('admission', 'adm-2'), record('booking', 'o-2')];
  for (const q of ['menon', 'Zoya M', '51515', '9800051515'])
    expect([q, await found('privacy', q)]).toEqual([q, both]);
  const before = await lastEntry();
  expect(await found('viewer', 'menon')).toEqual([]);
  expect(await found('viewer', '09800051515')).toEqual(both);
  expect(await (await find('viewer', '9800051515')).text()).not.toContain('Menon');
  expect(await (await find('privacy', 'menon')).text()).toMatch(
    /Patients<.*Zoya Menon.*Admissions<.*12,500.50.*Zoya Menon/s,
  );
  expect((await entriesAfter(before)).map(({ filter, patients }) => [filter, patients])).toEqual([
    [{ by: 'phone' }, ['p51', 'p52']],
    [{ by: 'phone' }, ['p51', 'p52']],
    [{ by: 'name' }, ['p51', 'p52']],
  ]);
});

it('the last digits of a phone number find the patient with all receipts, for the role privacy alone', async () => {
  await apply(database, [receipt(17, { name: 'M. Rao', mobile: '', patient_oid: 'p7', amount_paid: 1_100 })]);
  const before = await lastEntry();
  expect(await found('viewer', '43210')).toEqual([]);
  expect(await entriesAfter(before)).toEqual([]);
  const text = await (await find('privacy', '43210')).text();
  expect(text).toMatch(/Meera Rao.*1,500\.00.*180\.10.*<td[^>]*>2<\/td>.*name="patient" value="p7"/);
  expect(await found('privacy', '543210')).toEqual([record('receipt', '7')]);
  expect((await entriesAfter(before)).map(({ filter, patients }) => [filter, patients])).toEqual([
    [{ by: 'end of a phone number' }, ['p7']],
    [{ by: 'end of a phone number' }, ['p7']],
  ]);
});

it('any part of a printed number finds the receipt, with or without separators', async () => {
  await apply(database, [
    receipt(21, { receipt_number: 'INV/2025-26/00417', patient_oid: 'p21' }),
    receipt(22, { receipt_number: 'INV/2025-26/00418', patient_oid: 'p22' }),
  ]);
  await updateAllTerms();
  for (const q of ['00417', '0417', 'inv/2025-26/00417', '26 00417'])
    expect([q, await found('viewer', q)]).toEqual([q, record('receipt', '21')]);
  expect(await found('viewer', '2025-26')).toHaveLength(2);
  // Its names are shown to this role, so it is an entry.
  const before = await lastEntry();
  expect(await found('privacy', '2025-26')).toHaveLength(2);
  expect(await entriesAfter(before)).toMatchObject([
    { filter: { by: 'receipt number' }, patients: ['p21', 'p22'] },
  ]);
});

it('a receipt is found by any beginning of a word, end of the phone number and part of its number', async () => {
  const text = (characters: string, minLength: number) =>
    fc.string({ unit: fc.constantFrom(...characters), minLength, maxLength: 9 });
  const word = text('abcdeओआरव', 2);
  const given = fc.record({
    words: fc.array(word, { minLength: 1, maxLength: 4 }),
    mobile: fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 10, maxLength: 10 }),
    number: fc.array(text('AB1234567890', 1), { minLength: 1, maxLength: 4 }),
    cuts: fc.array(fc.nat(), { minLength: 4, maxLength: 4 }),
  });
  const cases = fc.sample(given, 60).map((one, index) => ({ ...one, id: 500_000 + index }));
  await apply(
    database,
    cases.map(({ words, mobile, number, id }) =>
      receipt(id, { name: words.join(' '), mobile: `+91${mobile}`, receipt_number: number.join('/') }),
    ),
  );
  await updateAllTerms();
  for (const { words, mobile, number, cuts, id } of cases) {
    const [first, second, third, fourth] = cuts as [number, number, number, number];
    const whole = words[first % words.length]!;
    const key = number.join('');
    const start = third % Math.max(key.length - 2, 1);
    const searches = [
      whole.slice(0, 2 + (second % (whole.length - 1))),
      mobile.slice(-4 - (second % 5)),
      key.slice(start, start + 3 + (fourth % 9)),
    ];
    for (const searched of searches) {
      const query = searchQuery(lookupsOf(families, { text: searched, mayNamePeople: true }), 10_000);
      const ids = (await readByIndexes(database.db, query)).map((hit) => hit.id);
      expect({ searched, id, found: ids.includes(String(id)) }).toEqual({ searched, id, found: true });
    }
  }
});

it('the appointments of a phone number are found through the patient, and those that its receipts name', async () => {
  const appointment = (appointment_id: string, patient_id: string) =>
    appointmentCallback({ data: { appointment_id, patient_id } });
  await apply(database, [
    receipt(41, { mobile: '+91 90000 41414', patient_oid: 'p41', aid: 'a-named' }),
    appointment('a-patient', 'p41'),
    appointment('a-named', 'p-other'),
    appointment('a-none', 'p-none'),
  ]);
  expect(await found('viewer', '9000041414')).toEqual([
    record('receipt', '41'),
    record('appointment', 'a-named'),
    record('appointment', 'a-patient'),
  ]);
});

it('a patient is found by id for the role privacy alone, and the page is posted', async () => {
  const before = await lastEntry();
  expect(await (await find('viewer', 'p7')).text()).toContain('Nothing was found.');
  expect(await entriesAfter(before)).toEqual([]);
  const text = await (await find('privacy', 'p7')).text();
  expect(text).toMatch(/action="\/console\/patients".*name="patient" value="p7"/);
  expect(text).not.toMatch(/(href|action)="[^"]*p7/);
  expect(await entriesAfter(before)).toEqual([
    { action: 'search', filter: { by: 'patient' }, rows: 1, patients: ['p7'] },
  ]);
});

it('results show nobody but the role privacy personal data, and no log has what was entered', async () => {
  logged.length = 0;
  const text = await (await find('viewer', '9811111111')).text();
  const main = text.slice(text.indexOf('<main'));
  expect(main).toContain('R-8');
  expect(main).not.toMatch(/981|Asha|meera|p8|p9/);
  await find('privacy', 'meera');
  const lines = logged.join();
  expect(lines).not.toMatch(/9811111111|meera/);
  expect(JSON.stringify(await database.rows('select t::text from access_log t'))).not.toMatch(
    /9811111|meera/i,
  );
});

it('without the access log, a search by a person’s data leads nowhere', async () => {
  await database.pool.query('alter function log_access rename to gone');
  try {
    for (const q of ['9876543210', '43210', 'meera', 'p7', '2025-26'])
      expect((await find('privacy', q)).status).toBe(503);
    expect((await find('privacy', 'R-7')).status).toBe(303);
  } finally {
    await database.pool.query('alter function gone rename to log_access');
  }
});

it('a user who tries phone numbers one after the other is stopped, and others are not', async () => {
  const statuses: number[] = [];
  for (let number = 0; number < 40; number += 1)
    statuses.push((await find('viewer', String(9_000_000_000 + number))).status);
  expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(10);
  expect(statuses.at(-1)).toBe(429);
  expect((await find('viewer', 'R-7')).status).toBe(303);
  expect((await find('privacy', '9876543210')).status).toBe(200);
});

it('reads only a few of 20,000 receipts, whatever is searched', async () => {
  await database.pool.query(`
    insert into receipts (business_id, receipt_id, receipt_number, name, mobile, client_id, last_event, event_time, extra,
                          delivery_id, received_at, applied_at)
    select 'b' || n % 20, n, 'N-' || n, translate(n::text, '0123456789', 'abcdefghij'), '+9198' || 10000000 + n, 'c',
           'receipt.created', now(), '{}', gen_random_uuid(), now(), now()
    from generate_series(10001, 30000) n`);
  await database.pool.query(`
    insert into inbox (id, event, family, client_id, business_id, event_time, envelope)
    select delivery_id, last_event, 'receipt', 'c', business_id, event_time,
           jsonb_build_object('data', jsonb_build_object('patient_oid', receipt_number)) from receipts
    on conflict do nothing`);
  await database.pool.query(`
    insert into applied_deliveries (id, family, business_id, event_time, received_at, applied_at)
    select id, family, business_id, event_time, received_at, received_at from inbox on conflict do nothing`);
  await database.pool.query('vacuum analyze');
  await database.pool.query(`
    insert into receipt_terms (business_id, receipt_id, terms)
    select business_id, receipt_id, receipt_terms_of(name, mobile, receipt_number) from receipts on conflict do nothing`);
  await database.pool.query('vacuum analyze');
  const asked = { mayNamePeople: true };
  for (const text of [
    '12345',
    'N-12345',
    '+919810012345',
    'bcdef',
    'N-12346',
    deliveries[0]!,
    'api-none',
    '10012345',
    '7 19 Nov',
  ]) {
    const [
      {
        'QUERY PLAN': [plan],
      } = {} as never,
    ] = await readByIndexes<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      database.db,
      sql`explain (analyze, format json) ${searchQuery(lookupsOf(families, { text, ...asked }))}`,
    );
    const read = rowsRead(plan.Plan, 'Scan');
    expect({ text, few: read < 500, read }).toEqual({ text, few: true, read });
  }
});
