import {
  appointmentCallback,
  consentFormCallback,
  receiptCallback,
  receiptData,
  reviewRequestCallback,
} from '../support/callbacks.ts';
import { apply, clear, erasureTables } from '../support/deliveries.ts';
import { useConsole } from './use-console.ts';

const { database, visitor } = useConsole();

const patient = receiptData.patient_oid;
beforeEach(async () => {
  await clear(database, ...erasureTables, 'patient_pseudonyms');
  await apply(database, [
    receiptCallback(),
    receiptCallback({
      event: 'receipt.updated',
      event_time: 1_700_000_009,
      data: { net_amount: 12345678901234.56 },
    }),
    consentFormCallback(),
    reviewRequestCallback(),
    receiptCallback({ data: { receipt_id: 2, patient_oid: 'somebody-else' } }),
  ]);
});

const read = async (path: string, fields: Record<string, string> = { patient }) => {
  const response = await visitor.post(path, fields);
  return { status: response.status, page: await response.text() };
};
const count = async (from: string) => Number((await database.rows(`select count(*) from ${from}`))[0]!.count);
const lastEntry = async () =>
  (
    await database.rows(
      `
    select action, rows::int as rows, patients = array[(select patient_hash(salt, '', $1) from erasure_salt)] as about
    from access_log order by entry desc limit 1`,
      [patient],
    )
  )[0];

it('shows what is held about a patient in all three spellings, and nothing of others', async () => {
  const { page } = await read('/patients');
  for (const family of ['receipt', 'consent_form', 'review_request'])
    expect(page).toContain(`href="/console/records/${family}?`);
  expect(page).toContain('<dt>Messages received</dt><dd>4</dd>');
  expect(page).not.toContain('somebody-else');
  expect(await lastEntry()).toEqual({ action: 'reveal', rows: 8, about: true });
});

it('the sums are those of all receipts that are not deleted, and receipts of one day and amount are marked', async () => {
  const receipt = (receipt_id: number, net_amount: number, data = {}) =>
    receiptCallback({
      data: {
        receipt_id,
        patient_oid: 'p-sums',
        net_amount,
        amount_paid: 100,
        amount_due: net_amount - 100,
        ...data,
      },
    });
  const later = { created_at: 1_700_900_000_000 };
  await apply(database, [
    receipt(11, 500, { receipt_number: 'S-11', mobile: '+919811111111' }),
    receipt(12, 500, { receipt_number: 'S-12', name: 'A. Rao' }),
    receipt(13, 500, { receipt_number: 'S-13', ...later }),
    receipt(14, 700, { receipt_number: 'S-14' }),
    { ...receipt(15, 700), event: 'receipt.deleted' },
    ...['a-open', 'a-missed'].map((appointment_id, index) => {
      const start_time = Math.floor(Date.now() / 1000) + (1 - 3 * index) * 86_400;
      return appointmentCallback({
        data: { appointment_id, patient_id: 'p-sums', status: 'BK', start_time },
      });
    }),
    appointmentCallback({ data: { appointment_id: 'a-past', patient_id: 'p-sums', status: 'CM' } }),
  ]);
  const { page } = await read('/patients', { patient: 'p-sums' });
  const facts = Object.fromEntries(
    Array.from(page.split('</dl>')[0]!.matchAll(/<dt>([^<]*)<\/dt><dd>([^<]*)/g), ([, name, value]) => [
      name,
      value,
    ]),
  );
  expect(facts).toMatchObject({
    Name: expect.stringContaining('A. Rao'),
    Phone: expect.stringContaining('+919811111111'),
    Receipts: '4',
    Total: '₹2,200.00',
    Paid: '₹400.00',
    Due: '₹1,800.00',
  });
  const marked = Array.from(page.matchAll(/<tr>(.*?)<\/tr>/g), ([, row]) => row!)
    .filter((row) => row.includes('same amount and day'))
    .map((row) => /S-\d+/.exec(row)?.[0]);
  expect(marked.sort()).toEqual(['S-11', 'S-12']);
  const [, toCome, before] = page.split(/<h2>(?:Appointments to come|Past appointments)/);
  expect(toCome).toMatch(/Begins.*a-open/);
  expect(toCome).not.toContain('a-missed');
  for (const id of ['a-missed', 'a-past']) expect(before).toContain(id);
});

it('shows who looked before, with a link to all of it', async () => {
  await read('/patients');
  const { page } = await read('/patients');
  expect(page).toMatch(/Who looked<\/h2>.*admin-token.*looked/);
  const [, about] = /href="\/console(\/access-log\?about=[\da-f]{64})"/.exec(page)!;
  expect(await visitor.read(about!)).toContain(`Only entries about the patient ${patient}`);
});

it('a business is shown and offered with its alias', async () => {
  const business = String(receiptCallback().business_id);
  const [{ id } = {}] = await database.rows(
    `with named as (insert into aliases (kind, id, alias, updated_by) values ('business', $1, 'North Clinic', 'test'))
     select id from deliveries where family = 'receipt' limit 1`,
    [business],
  );
  try {
    expect(await visitor.read('/patients')).toContain('label="North Clinic"');
    const { page } = await read('/patients', { patient, business });
    expect(page).toMatch(/<dt>Business<\/dt><dd><span title="[^"]+">North Clinic/);
    expect(await visitor.read(`/deliveries/${id}`)).toMatch(
      /<dt>Business<\/dt><dd><span title="[^"]+">North Clinic/,
    );
  } finally {
    await database.rows('truncate aliases');
  }
});

it('the address of no page contains the id of a patient', async () => {
  const page = await visitor.read('/patients');
  expect(page).toMatch(/<form method="post" action="\/console\/patients"/);
  const found = await read('/patients');
  expect(found.page.match(/(href|action)="[^"]*"/g)!.join()).not.toContain(patient);
});

it('exports everything that is held, and who looked at it, as JSON', async () => {
  await read('/patients');
  const response = await visitor.post('/patients/export', { patient });
  expect(response.headers.get('content-disposition')).toBe('attachment; filename="patient.json"');
  const text = await response.text();
  const data = JSON.parse(text);
  expect(data.deliveries).toHaveLength(4);
  expect(data.deliveries[0]).toMatchObject({
    received_at: expect.any(String),
    envelope: { data: expect.any(Object) },
  });
  expect(data.receipts).toMatchObject([{ receipt_id: 4711, name: receiptData.name }]);
  expect([data.receipt_versions.length, data.consent_forms.length, data.review_requests.length]).toEqual([
    1, 1, 1,
  ]);
  expect(data.access_log.at(-1)).toMatchObject({ actor: 'admin-token', action: 'reveal' });
  // A double has fewer digits.
  expect(text).toContain('12345678901234.56');
  expect(text).not.toContain('somebody-else');
  expect(await lastEntry()).toEqual({ action: 'export', rows: 8, about: true });
});

it('an erasure is previewed, then done, and its certificate is listed without the patient', async () => {
  expect((await read('/patients/erase/preview')).page).toContain('Nothing was changed yet.');
  expect(await count('receipts')).toBe(2);
  const { page } = await read('/patients/erase');
  expect(await database.rows('select receipt_id::int as id from receipts')).toEqual([{ id: 2 }]);
  const [certificate] = await database.rows('select id from erasures');
  for (const shown of [page, await visitor.read('/patients')]) {
    expect(shown).toContain(certificate!.id);
    expect(shown).not.toContain(patient);
  }
  expect(await lastEntry()).toEqual({ action: 'erase', rows: 4, about: true });
  expect(await count('patient_pseudonyms')).toBe(0);
});

it('a hold is placed and released', async () => {
  expect((await read('/patients/hold')).page).toContain('Release the hold');
  expect(await count('patient_holds')).toBe(1);
  expect((await read('/patients/release')).page).not.toContain('Release the hold');
  expect(await count('patient_holds')).toBe(0);
});

it('of a patient about whom nothing is held, no id is kept', async () => {
  const { page } = await read('/patients', { patient: 'unknown-patient' });
  expect(page).toContain('Nothing is held about this patient.');
  await read('/patients/export', { patient: 'unknown-patient' });
  await read('/patients/erase', { patient: 'unknown-patient' });
  for (const table of ['access_log', 'patient_pseudonyms', 'erased', 'erasures']) {
    expect(JSON.stringify(await database.rows(`select t::text as row from ${table} t`))).not.toContain(
      'unknown-patient',
    );
  }
});

it('without an id, the form says what to enter', async () => {
  expect(await read('/patients', {})).toMatchObject({
    status: 400,
    page: expect.stringContaining('Enter the id of a patient.'),
  });
});

it('where the access log cannot be written, nothing is shown, exported or erased', async () => {
  await database.pool.query('alter function log_access rename to elsewhere');
  try {
    for (const path of ['/patients', '/patients/export']) {
      const { status, page } = await read(path);
      expect([path, status]).toEqual([path, 503]);
      expect(page).not.toContain('receipt.created');
    }
    expect((await read('/patients/erase')).status).toBeGreaterThanOrEqual(500);
    expect(await count('receipts')).toBe(2);
    expect(await count('erased')).toBe(0);
  } finally {
    await database.pool.query('alter function elsewhere rename to log_access');
  }
});
