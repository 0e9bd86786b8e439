import { sql } from 'kysely';
import type { Role } from '../../src/console/rights.ts';
import { lookupsOf, searchQuery } from '../../src/console/search/queries.ts';
import { families } from '../../src/families/index.ts';
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

const { database, service, logged } = useConsole({ prepare: async () => ({ requestLog: true }) });
const users = {} as Record<Role, Visitor>;
const business = receiptCallback().business_id;
let deliveries: string[];
let body: string;

const receipt = (receipt_id: number, data: object = {}) => receiptCallback({ data: { receipt_id, ...data } });

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
const lastEntry = async () => (await database.rows('select entry from access_log_head'))[0]!.entry;

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
    /Nothing was found. Searched: .*appointment id.*receipt number.*Names and patients take/,
  );
  expect(await (await find('viewer', '')).text()).toContain('Enter the id');
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

it('names are found by their beginning, for the role privacy alone', async () => {
  const before = await lastEntry();
  expect(await found('viewer', 'meera')).toEqual([]);
  expect(await entriesAfter(before)).toEqual([]);
  expect(await found('privacy', 'MEERA')).toHaveLength(2);
  expect(await found('privacy', 'Meera R')).toBe(record('receipt', '7'));
  // No wildcard.
  expect(await found('privacy', 'meera_')).toEqual([]);
  expect((await entriesAfter(before)).map(({ filter, patients }) => [filter, patients])).toEqual([
    [{ by: 'name' }, ['p7', 'p8']],
    [{ by: 'name' }, ['p7']],
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

it('results show no personal data but what was entered, and no log has that', async () => {
  logged.length = 0;
  const text = await (await find('privacy', '9811111111')).text();
  const main = text.slice(text.indexOf('<main'));
  expect(main).toContain('receipt 9');
  expect(main).not.toMatch(/981|Asha|meera|p8|p9/);
  await find('privacy', 'meera');
  const lines = logged.join();
  expect(lines).toContain('/console/search');
  expect(lines).not.toMatch(/9811111111|meera/);
  expect(JSON.stringify(await database.rows('select t::text from access_log t'))).not.toMatch(
    /9811111|meera/i,
  );
});

it('without the access log, a search by a person’s data leads nowhere', async () => {
  await database.pool.query('alter table access_log_head rename to gone');
  try {
    for (const q of ['9876543210', 'meera', 'p7']) expect((await find('privacy', q)).status).toBe(503);
    expect((await find('privacy', 'R-7')).status).toBe(303);
  } finally {
    await database.pool.query('alter table gone rename to access_log_head');
  }
});

it('a user who tries phone numbers one after the other is stopped, and others are not', async () => {
  const statuses: number[] = [];
  for (let number = 0; number < 40; number += 1)
    statuses.push((await find('viewer', String(9_000_000_000 + number))).status);
  expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(30);
  expect(statuses.at(-1)).toBe(429);
  expect((await find('viewer', 'R-7')).status).toBe(303);
  expect((await find('privacy', '9876543210')).status).toBe(303);
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
  for (const q of ['12345', 'N-12345', '+919810012345', 'bcdef', 'N-12346', deliveries[0]!, 'api-none']) {
    const lookups = lookupsOf(families, q, true);
    const { rows } = await sql<{ 'QUERY PLAN': { Plan: PlanNode }[] }>`
      explain (analyze, format json) ${searchQuery(lookups)}`.execute(database.db);
    const read = rowsRead(rows[0]!['QUERY PLAN'][0]!.Plan, 'Scan');
    expect({ q, few: read < 500, read }).toEqual({ q, few: true, read });
  }
});
