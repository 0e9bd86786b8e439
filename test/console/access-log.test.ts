import { sql } from 'kysely';
import { applyDeliveries } from '../../src/apply/apply.ts';
import { families } from '../../src/families/index.ts';
import { logAccess } from '../../src/privacy/log/access-log.ts';
import { accessQuery, pseudonymOf } from '../../src/privacy/log/audit.ts';
import { consentFormCallback, paths, receiptCallback, reviewRequestCallback } from '../support/callbacks.ts';
import { apply, clear, insertCallbacks } from '../support/deliveries.ts';
import { type PlanNode, rowsRead } from '../support/plans.ts';
import { post } from '../support/service.ts';
import { until } from '../support/until.ts';
import { useConsole } from './use-console.ts';
import { postForm, type Visitor, visitAs } from './visitor.ts';

const { database, service, visitor } = useConsole();
let privacy: Visitor;
beforeAll(async () => {
  privacy = await visitAs(service.url, 'privacy');
});
beforeEach(() => clear(database));

/** The entries since another one, with the ids of their patients. */
const entriesAfter = (entry: unknown) =>
  database.rows(
    `select action, actor, actor_name, address, filter, rows::int,
            array(select patient_id from patient_pseudonyms p where p.pseudonym = any(l.patients) order by 1) as patients
     from access_log l where entry > $1 order by entry`,
    [entry],
  );
const lastEntry = async () =>
  (await database.rows('select coalesce(max(entry), 0) as entry from access_log'))[0]!.entry;

async function withoutLog(act: () => Promise<void>): Promise<void> {
  await database.pool.query('alter function log_access rename to gone');
  try {
    await act();
  } finally {
    await database.pool.query('alter function gone rename to log_access');
  }
}

const now = () => Math.floor(Date.now() / 1000);
const receipt = (receipt_id: number, data: object = {}) =>
  receiptCallback({ event_time: now(), data: { receipt_id, created_at: Date.now(), ...data } });

/** Deliveries of three patients, one that failed, and a rejected body. */
async function fill() {
  await database.pool.query(`alter table receipts add constraint plain check (remarks not like 'bad%')`);
  const ids = await insertCallbacks(database, [
    receipt(1, { patient_oid: 'p1', name: 'CANARY' }),
    consentFormCallback({ event_time: now(), data: { patientid: 'p2', url: 'CANARY' } }),
    reviewRequestCallback({ event_time: now(), data: { patient_id: 'p3', google_review_link: 'CANARY' } }),
    receipt(2, { patient_oid: 'p4', remarks: 'bad CANARY' }),
  ]);
  await applyDeliveries(database.db, families, ids);
  await database.pool.query('alter table receipts drop constraint plain');
  await post(service.url + paths.receipt, {
    ...receipt(3, { patient_oid: 'p5', name: 'CANARY' }),
    event_time: 'x',
  });
  const [body] = await database.rows('select id from quarantine');
  return { delivery: ids as [string, string, string, string], body: String(body!.id) };
}

type Filled = Awaited<ReturnType<typeof fill>>;
interface Act {
  name: string;
  path: (filled: Filled) => string;
  /** The fields of a form; undefined: it is not posted. */
  fields?: (filled: Filled) => Record<string, string>;
  entry: (filled: Filled) => object;
  /** Whether the response shows personal data. */
  shows?: boolean;
}

const days = { from: expect.any(String), to: expect.any(String) };
const acts: Act[] = [
  ...[0, 1, 2].map((index): Act => {
    return {
      name: `the personal data of delivery ${index}`,
      path: ({ delivery }) => `/deliveries/${delivery[index]}/personal`,
      fields: () => ({}),
      entry: ({ delivery }) => ({
        action: 'reveal',
        patients: [`p${index + 1}`],
        filter: { delivery: delivery[index] },
        rows: 1,
      }),
      shows: true,
    };
  }),
  {
    name: 'the personal data of a receipt',
    path: () => '/records/receipt/personal',
    fields: () => ({ business: receiptCallback().business_id, id: '1' }),
    entry: () => ({
      action: 'reveal',
      patients: ['p1'],
      filter: { family: 'receipt', business: receiptCallback().business_id, id: '1' },
      rows: 1,
    }),
    shows: true,
  },
  {
    name: 'a search by a phone number',
    path: () => '/search?q=098765+00000',
    entry: () => ({ action: 'search', patients: [], filter: { by: 'phone' }, rows: 0 }),
  },
  {
    name: 'a rejected body',
    path: ({ body }) => `/quarantine/${body}/personal`,
    fields: () => ({}),
    entry: ({ body }) => ({ action: 'body', patients: ['p5'], filter: { quarantine: body }, rows: 1 }),
    shows: true,
  },
  {
    name: 'the personal data of a report',
    path: () => '/reports/receipts/personal',
    fields: () => ({}),
    entry: () => ({ action: 'reveal', patients: ['p1'], filter: { report: 'receipts', ...days }, rows: 1 }),
    shows: true,
  },
  {
    name: 'a download with personal data',
    path: () => '/reports/consent_forms/csv',
    fields: () => ({ business: consentFormCallback().business_id }),
    entry: () => ({
      action: 'download',
      patients: ['p2'],
      filter: {
        report: 'consent_forms',
        ...days,
        business: consentFormCallback().business_id,
        format: 'csv',
        personal: true,
      },
      rows: 1,
    }),
    shows: true,
  },
  {
    name: 'a download without personal data',
    path: () => '/reports/deliveries/csv',
    entry: () => ({
      action: 'download',
      patients: [],
      filter: { report: 'deliveries', ...days, format: 'csv', personal: false },
      rows: 4,
    }),
  },
  {
    name: 'a replay, without the text of an error',
    path: () => '/replay',
    fields: () => ({ event: 'receipt.created', error: 'Patient CANARY', since: '2020-01-01T05:30' }),
    entry: () => ({
      action: 'replay',
      patients: [],
      filter: { event: 'receipt.created', error: 'one error', since: '2020-01-01T00:00:00.000Z' },
      rows: 0,
    }),
  },
  {
    name: 'a report with a text that matches nothing',
    path: () => '/reports/receipts/personal',
    fields: () => ({ from: '2020-01-01', to: '2020-01-02', doctor: 'Asha 9900000001' }),
    entry: () => ({
      action: 'reveal',
      patients: [],
      filter: { report: 'receipts', from: '2020-01-01', to: '2020-01-02', doctor: '<text>' },
      rows: 0,
    }),
  },
  {
    name: 'a replay of one delivery',
    path: () => '/replay',
    fields: ({ delivery }) => ({ id: delivery[3] }),
    entry: ({ delivery }) => ({ action: 'replay', patients: [], filter: { id: delivery[3] }, rows: 1 }),
  },
  {
    name: 'a replay of the quarantine',
    path: () => '/quarantine/replay',
    fields: () => ({ reason: 'invalid' }),
    entry: () => ({ action: 'quarantine replay', patients: [], filter: { reason: 'invalid' }, rows: 1 }),
  },
  {
    name: 'a drop',
    path: () => '/quarantine/drop',
    fields: ({ body }) => ({ id: body }),
    entry: ({ body }) => ({ action: 'quarantine drop', patients: [], filter: { id: body }, rows: 1 }),
  },
  {
    name: 'the access log',
    path: () => '/access-log?action=erase',
    entry: () => ({ action: 'audit', patients: [], filter: { action: 'erase' }, rows: 0 }),
  },
];

const send = ({ path, fields }: Act, filled: Filled) =>
  fields ? privacy.post(path(filled), fields(filled)) : privacy.get(path(filled));

/** What a replay and a drop change. */
const state = () =>
  database.rows(`select (select json_agg(status order by id) from deliveries) as statuses,
                        (select json_agg(replayed_at) from quarantine) as replayed`);

describe.each(acts)('$name', (act) => {
  it('is an entry of the access log: who, from where, what, of whom', async () => {
    const filled = await fill();
    const before = await lastEntry();
    const response = await send(act, filled);
    expect([response.status, (await response.text()).includes('CANARY')]).toEqual([200, Boolean(act.shows)]);
    expect(await entriesAfter(before)).toEqual([
      {
        actor: 'subject-privacy',
        actor_name: 'privacy@clinic.invalid',
        address: '127.0.0.1',
        ...act.entry(filled),
      },
    ]);
  });

  it('is neither shown nor done where the access log cannot be written', async () => {
    const filled = await fill();
    const before = await state();
    await withoutLog(async () => {
      const response = await send(act, filled);
      const text = await response.text();
      expect(response.status).toBe(503);
      expect(text).toContain('The access log cannot be written, so nothing is shown.');
      expect(text).not.toContain('CANARY');
    });
    expect(await state()).toEqual(before);
  });
});

it('masked pages and previews are no entries', async () => {
  const { delivery, body } = await fill();
  const before = await lastEntry();
  for (const path of [
    '/today',
    '/deliveries',
    `/deliveries/${delivery[0]}`,
    `/quarantine/${body}`,
    '/reports/receipts',
  ]) {
    expect((await privacy.get(path)).status).toBe(200);
  }
  expect((await privacy.post('/replay/preview')).status).toBe(200);
  expect((await privacy.post('/quarantine/preview', { all: 'yes' })).status).toBe(200);
  expect(await entriesAfter(before)).toEqual([]);
});

it('a wrong token, a right one and a sign-out are entries', async () => {
  const before = await lastEntry();
  await postForm(`${service.url}/console/sign-in`, { token: 'wrong-token' });
  await (await visitAs(service.url, 'privacy')).post('/sign-out');
  const entry = { address: '127.0.0.1', rows: null, patients: [] };
  expect(await entriesAfter(before)).toEqual([
    {
      ...entry,
      action: 'sign-in failed',
      actor: 'unknown',
      actor_name: null,
      filter: { with: 'admin token', reason: 'wrong token' },
    },
    {
      ...entry,
      action: 'sign-out',
      actor: 'subject-privacy',
      actor_name: 'privacy@clinic.invalid',
      filter: {},
    },
  ]);
  expect(JSON.stringify(await database.rows('select * from access_log'))).not.toContain('wrong-token');
  expect(await entriesAfter(0)).toContainEqual({
    ...entry,
    action: 'sign-in',
    actor: 'admin-token',
    actor_name: null,
    filter: { with: 'admin token', role: 'privacy' },
  });
});

it('a report logs the patients of the rows that it shows, and no others', async () => {
  await apply(
    database,
    Array.from({ length: 230 }, (_, index) =>
      receipt(index, { patient_oid: `p${index % 90}`, created_at: Date.now() - index * 1000 }),
    ),
  );
  await apply(database, [receipt(999, { patient_oid: 'p-oldest', created_at: Date.now() - 1_000_000 })]);
  const before = await lastEntry();
  const page = await (await privacy.post('/reports/receipts/personal', { columns: 'all' })).text();
  expect([page.includes('p-oldest'), /[>"]p89[<"]/.test(page)]).toEqual([false, true]);
  const [entry] = await entriesAfter(before);
  expect([(entry!.patients as string[]).length, entry!.rows]).toEqual([90, 200]);
});

it('a download logs exactly the patients that it sends, whatever arrives in the meantime, and waits for the log', async () => {
  await apply(database, [receipt(1, { patient_oid: 'p1' }), receipt(2, { patient_oid: '' })]);
  const before = await lastEntry();
  const client = await database.pool.connect();
  try {
    await client.query('begin; lock table access_log in share mode');
    const downloading = privacy.post('/reports/receipts/csv');
    await until(async () => {
      const waiting = await database.rows(
        // Longer than a page may take.
        `select 1 from pg_stat_activity where query like '%log_access%' and wait_event_type = 'Lock'
         and datname = current_database() and clock_timestamp() - query_start > interval '5.2 seconds'`,
      );
      return waiting.length > 0;
    });
    await apply(database, [receipt(3, { patient_oid: 'p3' })]);
    await client.query('rollback');
    const csv = await (await downloading).text();
    expect(csv.trim().split('\r\n')).toHaveLength(3);
    expect(csv).not.toContain('p3');
  } finally {
    client.release();
  }
  expect(await entriesAfter(before)).toMatchObject([{ action: 'download', patients: ['p1'], rows: 2 }]);
});

describe('the page of the access log', () => {
  const log = (action: 'reveal' | 'erase', id: string, patients: string[] = [], anonymous = false) =>
    logAccess(database.db, {
      actor: { id, name: `${id}@clinic.invalid` },
      action,
      patients,
      anonymous,
      filter: { note: '<b>' },
    });
  const numbersIn = (page: string) =>
    Array.from(page.matchAll(/<tr><td class="number"[^>]*>([\d,]+)<\/td>/g), ([, entry]) =>
      Number(entry!.replaceAll(',', '')),
    );
  const links = (page: string) =>
    /href="\/console(\/access-log\?[^"]*before=[^"]*)"/.exec(page)?.[1]?.replaceAll('&amp;', '&');

  it('names who saw whom; of an erased patient only a part of the pseudonym', async () => {
    await log('reveal', 'asha', ['patient-7', 'patient-8']);
    await log('erase', 'asha', ['patient-9'], true);
    const page = await privacy.read('/access-log?actor=asha');
    for (const text of ['asha@clinic.invalid', 'patient-7', 'patient-8', 'note: &lt;b>']) {
      expect(page).toContain(text);
    }
    expect(page).toMatch(/erased [\da-f]{8}</);
    expect(page).not.toContain('patient-9');
  });

  it('names the first patients of an entry, and how many more there are', async () => {
    await log(
      'reveal',
      'many',
      Array.from({ length: 1_234 }, (_, index) => `m${index}`),
    );
    const page = await privacy.read('/access-log?actor=many');
    expect(page.match(/>m\d+</g)).toHaveLength(5);
    expect(page).toContain('and 1,229 more');
  });

  it('its pages contain every entry once, newest first', async () => {
    for (let index = 0; index < 120; index += 1) await log('reveal', index % 2 ? 'odd' : 'even');
    const seen: number[] = [];
    for (let path: string | undefined = '/access-log?actor=odd'; path; ) {
      const page: string = await privacy.read(path);
      seen.push(...numbersIn(page));
      path = links(page);
    }
    const expected = await database.rows(
      `select entry::int from access_log where actor = 'odd' order by entry desc`,
    );
    expect(seen).toEqual(expected.map(({ entry }) => entry));
    expect(seen).toHaveLength(60);
  });

  it('is filtered by actor, action and time, and an invalid filter says what is wrong', async () => {
    const entry = await log('erase', 'filtered');
    const is = async (query: string) => numbersIn(await privacy.read(`/access-log?${query}`)).includes(entry);
    expect(await is('actor=filtered&action=erase&since=2020-01-01T00:00')).toBe(true);
    expect(await is('actor=filtered@clinic.invalid')).toBe(true);
    expect(await is('actor=another')).toBe(false);
    expect(await is('action=hold')).toBe(false);
    expect(await is('until=2020-01-01T00:00')).toBe(false);
    expect(await is('since=2100-01-01T00:00')).toBe(false);
    const wrong = await privacy.get('/access-log?action=nothing&since=yesterday');
    expect([wrong.status, await wrong.text()]).toEqual([
      400,
      expect.stringContaining('Enter a date and a time.'),
    ]);
  });

  it('is filtered by a patient, by id or by a record, and no address has the id', async () => {
    await apply(database, [receipt(71, { patient_oid: 'patient-71' })]);
    const entry = await log('reveal', 'asha', ['patient-71']);
    const other = await log('reveal', 'asha', ['patient-72']);
    const record = { family: 'receipt', business: receiptCallback().business_id, record: '71' };
    for (const fields of [{ patient: 'patient-71' }, record]) {
      const { status, headers } = await privacy.post('/access-log', fields);
      const location = headers.get('location')!;
      expect([status, location]).toEqual([
        303,
        expect.stringMatching(/^\/console\/access-log\?about=[\da-f]{64}$/),
      ]);
      const page = await privacy.read(location.replace('/console', ''));
      expect([numbersIn(page).includes(entry), numbersIn(page).includes(other)]).toEqual([true, false]);
    }
    expect((await privacy.post('/access-log', { ...record, record: '72' })).status).toBe(404);
  });

  it('reads only a few of 20,000 entries, whatever it is filtered by', async () => {
    const salt = `(select salt from erasure_salt)`;
    await database.pool.query(`
      insert into access_log (at, actor, actor_name, action, patients, filter)
      select clock_timestamp(), 'user-' || n % 500, 'name-' || n % 500, case when n % 500 = 7 then 'hold' else 'reveal' end,
             array[patient_hash(${salt}, '', 'p' || n % 500)], '{}'
      from generate_series(1, 20000) n`);
    await database.pool.query('vacuum analyze access_log, patient_pseudonyms');
    const pseudonym = await pseudonymOf(database.db, 'p7');
    const filters = [
      {},
      { actor: 'user-7' },
      { actor: 'name-7' },
      { action: 'hold' },
      { patient: 'p7' },
      { pseudonym },
    ];
    for (const filter of filters) {
      const { rows } = await sql<{ 'QUERY PLAN': { Plan: PlanNode }[] }>`
        explain (analyze, format json) ${accessQuery(filter, 51)}`.execute(database.db);
      const read = rowsRead(rows[0]!['QUERY PLAN'][0]!.Plan, 'Scan');
      expect({ filter, few: read < 1_000, read }).toEqual({ filter, few: true, read });
    }
  });

  it('is linked for the role privacy alone', async () => {
    expect(await privacy.read('/aliases')).toContain('/console/access-log');
    expect(await visitor.read('/aliases')).toContain('/console/access-log');
    expect(await (await visitAs(service.url, 'operator')).read('/aliases')).not.toContain(
      '/console/access-log',
    );
  });
});
