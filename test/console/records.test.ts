import { applyDeliveries } from '../../src/apply/apply.ts';
import type { Field } from '../../src/families/field.ts';
import { type Family, families, labelOf, publicKey } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import type { Role } from '../../src/sign-in/rights.ts';
import {
  appointmentCallback,
  consentFormCallback,
  deliveryOf,
  receiptCallback,
  reviewRequestCallback,
  samples,
} from '../support/callbacks.ts';
import { apply, clear } from '../support/deliveries.ts';
import { useConsole } from './use-console.ts';
import { type Visitor, visitAs } from './visitor.ts';

const { database, service } = useConsole();
const users = {} as Record<Role, Visitor>;
const business = receiptCallback().business_id;
beforeAll(async () => {
  for (const role of ['viewer', 'privacy'] as const) users[role] = await visitAs(service.url, role);
});
beforeEach(() => clear(database));

const address = (family: string, id: string, more: Record<string, string> = {}) =>
  `/records/${family}?${new URLSearchParams({ business, id, ...more })}`;
const read = (family: string, id: string, more: Record<string, string> = {}) =>
  users.viewer.read(address(family, id, more));
const reveal = async (family: string, id: string, more: Record<string, string> = {}) =>
  (await users.privacy.post(`/records/${family}/personal`, { business, id, ...more })).text();
/** The lines of a list, or of what became of a record. */
const linesIn = (html: string) =>
  Array.from(html.matchAll(/<li>(.*?)<\/li>/gs), ([, line]) => line!.replaceAll(/<[^>]*>/g, ''));
const becameOf = (page: string) => linesIn(page.slice(page.indexOf('class="timeline"')));
const entry = async () =>
  (await database.rows('select action, filter, rows::int from access_log order by entry desc limit 1'))[0];

it('a version that the reconciliation has found says so', async () => {
  await apply(database, [appointmentCallback()]);
  const callback = appointmentCallback({
    event: 'appointment.reconciled',
    event_time: 1_700_000_100,
    data: { status: 'CM' },
  });
  const found = { ...deliveryOf(callback), family: 'appointment' };
  await insertDeliveries(database.pool, [found]);
  await applyDeliveries(database.db, families, [found.id]);
  expect(becameOf(await read('appointment', callback.data.appointment_id))).toEqual([
    expect.stringMatching(/Status booked → completed, with a prescription.*found by reconciliation/),
    expect.stringMatching(/First: booked.*as new at/),
  ]);
  expect(await users.viewer.read(`/deliveries/${found.id}`)).toContain('found by reconciliation');
});

const created = receiptCallback();
const updated = receiptCallback({
  event: 'receipt.updated',
  event_time: 1_700_000_100,
  data: { amount_due: 0, name: 'Changed CANARY', unheard_of: 'CANARY' },
});

it.each(families.filter(({ identifiedBy }) => identifiedBy))(
  'every version of a record is a line of its page, the newest first: $name',
  async ({ name, events, identifiedBy, fields }) => {
    const sample = samples[name];
    const [first, last] = [events[0]!, events[1] ?? events[0]!];
    const [field] = Object.entries<Field>(fields).find(
      ([one, { json }]) => one !== identifiedBy && json === 'text' && one in sample().data,
    )!;
    const at = sample().event_time;
    const callbacks = [
      sample({ event: first }),
      sample({ event: last, event_time: at + 100, data: { [field]: 'changed' } }),
      sample({ event: first, event_time: at - 50_000 }),
    ];
    const ids = await apply(database, callbacks);
    const family = families.find((one) => one.name === name)!;
    const [row] = await database.rows(`select ${identifiedBy}::text as id from ${family.table}`);
    // An id that may identify a patient is in no address: any delivery about the record leads to it.
    const page = await read(name, publicKey(family) ? String(row!.id) : ids[1]!);
    const lines = becameOf(page);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toContain(labelOf(family, field));
    expect(lines[1]).toContain('Nothing changed');
    expect(lines[2]).toContain('First: ');
    for (const id of ids) expect(page).toContain(`/console/deliveries/${id}`);
  },
);

it.each(families.filter(({ identifiedBy }) => !identifiedBy))(
  'where each delivery is a record, its page has that id: $name',
  async ({ name }) => {
    const sent = samples[name]();
    const { id, family } = deliveryOf(sent);
    await apply(database, [sent]);
    expect([name, family]).toEqual([family, name]);
    expect(becameOf(await read(name, id))).toHaveLength(1);
  },
);

it('the address of a health account is personal data: without that, no page, title or link has it', async () => {
  const account = samples.health_account();
  const [id] = await apply(database, [account]);
  for (const page of [
    address('health_account', id!),
    '/deliveries',
    `/deliveries/${id}`,
    `/search?q=${id}`,
  ]) {
    const text = await users.viewer.read(page);
    expect([page, text.includes(id!)]).toEqual([page, true]);
    for (const part of ['asha@abdm', 'asha%40abdm']) expect(text).not.toContain(part);
  }
  expect(await reveal('health_account', id!)).toContain('asha@abdm');
  expect(await entry()).toMatchObject({ action: 'reveal', filter: { id, family: 'health_account' } });
});

it('personal data is shown only on demand, and that is an entry of the access log', async () => {
  await apply(database, [created, updated]);
  const page = await read('receipt', '4711');
  expect(page).not.toMatch(/CANARY|\+91|files\.invalid|pay\.invalid|161467756044204/);
  expect(page).toContain('<dd>₹490.05</dd>');
  expect(await users.privacy.read(address('receipt', '4711'))).not.toMatch(/CANARY|161467756044204/);
  const shown = await reveal('receipt', '4711');
  expect(shown).toContain('Changed CANARY');
  expect(shown).toMatch(/href="https:\/\/files\.invalid\/r\/4711\.pdf" rel="noreferrer"/);
  expect(shown).toContain('href="https://pay.invalid/1"');
  expect(await entry()).toEqual({
    action: 'reveal',
    filter: { family: 'receipt', business, id: '4711' },
    rows: 2,
  });
});

it('a receipt says in one line what it is, and its money adds up, or that it does not', async () => {
  await apply(database, [receiptCallback({ data: { receipt_number: 'R-1428' } })]);
  await database.pool.query(
    `insert into aliases (kind, id, alias, updated_by)
     values ('doctor', '161467756044203', 'Dr. Joseph', 'x'), ('clinic', '64a1f0c2e4b0a1b2c3d4e5f8', 'Sunrise', 'x')`,
  );
  const page = await read('receipt', '4711');
  const text = page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
  await database.pool.query('delete from aliases');
  expect(page).toContain('<h1>Receipt R-1428</h1>');
  expect(text).toContain('₹400.00 paid, ₹90.05 due · Dr. Joseph, Sunrise · 15 Nov 2023');
  expect(text).toContain(
    'Amount ₹500.10 − Discount on items ₹0.00 − Discount ₹10.05 = To pay ₹490.05 − Paid ₹400.00 = Due ₹90.05',
  );
  expect(text).not.toContain('does not add up');
  await apply(database, [receiptCallback({ event_time: 1_700_000_500, data: { amount_due: 80 } })]);
  expect(await read('receipt', '4711')).toMatch(/does not add up: Due would be ₹90\.05/);
});

it('every field is there by its own name, as it was received', async () => {
  await apply(database, [updated]);
  const page = await read('receipt', '4711');
  const received = page.slice(page.indexOf('As received'));
  const names = Array.from(received.matchAll(/<dt>(.*?)<\/dt>/g), ([, name]) => name);
  expect(names).toEqual([...Object.keys(families[0].fields), 'Further fields']);
  expect(page).toContain('15 Nov 2023, 03:43:20');
});

it('what became of a record says what changed; what is hidden is only said to have changed', async () => {
  await apply(database, [created, updated]);
  const change = (name: string, further: string) =>
    `${name}, Due ₹90.05 → ₹0.00, ${further}by an update at 15 Nov 2023, 03:45:00`;
  expect(becameOf(await read('receipt', '4711'))[0]).toContain(
    change('Patient changed', 'Further fields changed'),
  );
  expect(becameOf(await reveal('receipt', '4711'))[0]).toContain(
    change(
      `Patient ${created.data.name} → Changed CANARY`,
      'Further fields {} → {&quot;unheard_of&quot;: &quot;CANARY&quot;}',
    ),
  );
});

it('no page of a record has the words of those who run the receiver', async () => {
  await apply(
    database,
    families.map(({ name }) => samples[name]()),
  );
  for (const { name, table, identifiedBy = 'delivery_id' } of families as readonly Family[]) {
    const [row] = await database.rows(
      `select ${identifiedBy}::text as key, delivery_id::text as id from ${table}`,
    );
    const isPublic = publicKey(families.find((one) => one.name === name)!);
    const page = await read(name, String(isPublic ? row!.key : row!.id));
    const text = page.slice(page.indexOf('<main')).replaceAll(/<[^>]*>/g, ' ');
    expect([name, text.match(/deliver(y|ies)|quarantine|p95|schema|famil(y|ies)|drift|envelope/gi)]).toEqual([
      name,
      null,
    ]);
  }
});

it('records that belong together are linked in both directions', async () => {
  const { appointment_id } = appointmentCallback().data as { appointment_id: string };
  await apply(database, [
    created,
    appointmentCallback(),
    samples.payment_request(),
    samples.admission(),
    samples.admission_event(),
    samples.admission_clearance(),
    samples.prescription(),
    reviewRequestCallback({ data: { patient_id: 'somebody-else', appointment_id } }),
  ]);
  const links = async (family: string, id: string) => {
    const page = await read(family, id);
    const related = /<h2>Belongs together<\/h2><ul>(.*?)<\/ul>/s.exec(page)?.[1] ?? '';
    return Array.from(related.matchAll(/records\/(\w+)\?/g), ([, name]) => name);
  };
  expect(await links('receipt', '4711')).toEqual(['appointment', 'prescription', 'payment_request']);
  expect(await links('appointment', appointment_id)).toEqual(['receipt', 'prescription', 'payment_request']);
  expect(await links('prescription', 'rx-1')).toEqual(['receipt', 'appointment', 'payment_request']);
  expect(linesIn((await read('prescription', 'rx-1')).split('Belongs together')[1]!)[0]).toBe(
    'Receipt 4711 · ₹400.00 paid, ₹90.05 due · 15 Nov 2023',
  );
  expect(await links('admission', 'adm-1')).toEqual(['admission_event', 'admission_clearance']);
  expect(await read('admission_event', 'ev-1')).toContain('/console/records/admission?business=');
  // A receipt of the admission, and one of somebody else's.
  const transaction_id = 'ipd/b/admissions/adm-1/receipts/5';
  const ofAdmission = (receipt_id: number, data: object) =>
    receiptCallback({ transaction_id, data: { receipt_id, aid: '', ...data } });
  await apply(database, [ofAdmission(5, {}), ofAdmission(6, { patient_oid: 'somebody-else' })]);
  expect(await links('admission', 'adm-1')).toEqual(['receipt', 'admission_event', 'admission_clearance']);
  expect(await links('receipt', '5')).toEqual(['admission']);
  expect(await links('receipt', '6')).toEqual([]);
});

it('the page of a visit with hundreds of records is shown', async () => {
  await apply(
    database,
    Array.from({ length: 600 }, (_, at) => receiptCallback({ data: { receipt_id: at + 1 } })),
  );
  const page = await read('receipt', '1');
  expect(linesIn(page.split('Belongs together')[1]!.split('</ul>')[0]!)).toHaveLength(100);
});

it('a patient’s page lists the records, and is reached from them by posting', async () => {
  await apply(database, [created, consentFormCallback()]);
  const posted = { family: 'receipt', business, record: '4711' };
  expect(await users.privacy.read(address('receipt', '4711'))).toMatch(
    /action="\/console\/patients".*name="record" value="4711"/,
  );
  const page = await (await users.privacy.post('/patients', posted)).text();
  for (const href of [address('receipt', '4711'), address('consent_form', 'mc-1')])
    expect(page).toContain(`/console${href}`.replaceAll('&', '&amp;'));
  expect(await entry()).toMatchObject({ action: 'reveal', filter: { business } });
  expect((await users.viewer.post('/patients', posted)).status).toBe(403);
});

it('one click leads to the record: from the list, and from the page of a delivery', async () => {
  const [id, review] = await apply(database, [created, reviewRequestCallback()]);
  // The same number, as a sender may write it.
  await database.pool.query(
    `update inbox set envelope = jsonb_set(envelope, '{data,receipt_id}', '4711.0') where id = $1`,
    [id],
  );
  const receipt = `/console${address('receipt', '4711')}"`.replaceAll('&', '&amp;');
  const list = await users.viewer.read('/deliveries');
  for (const page of [list, await users.viewer.read(`/deliveries/${id}`)]) expect(page).toContain(receipt);
  expect(list).toContain(`/console${address('review_request', review!)}`.replaceAll('&', '&amp;'));
});

it.each([
  ['receipt', '4712'],
  ['receipt', 'x'],
  ['receipt', ''],
  ['review_request', 'x'],
  ['review_request', '018bcfe5-6800-8a3c-9f10-0123456789ab'],
  ['consent_form', "'"],
  ['dog', '1'],
])('a record that is not there is a page that says so: %s %s', async (family, id) => {
  const response = await users.viewer.get(address(family, id));
  expect([response.status, (await response.text()).includes('There is no such')]).toEqual([404, true]);
});

it('an erased record is a page that says so', async () => {
  await apply(database, [receiptCallback({ data: { patient_oid: 'gone' } })]);
  await users.privacy.post('/patients/erase', { patient: 'gone' });
  const response = await users.viewer.get(address('receipt', '4711'));
  expect([response.status, await response.text()]).toEqual([
    404,
    expect.stringContaining('or it was erased'),
  ]);
});
