import { strFromU8, unzipSync } from 'fflate';
import supertest from 'supertest';
import type { Family } from '../../src/callbacks/families/family.ts';
import { families } from '../../src/callbacks/families/index.ts';
import { type Role, roles } from '../../src/common/config/value-types.ts';
import { lists } from '../../src/console/lists/definitions.ts';
import { patientHandle } from '../../src/console/patient-handle.ts';
import { isAllowed } from '../../src/console/roles.ts';
import { type Callback, receiptCallback } from '../support/callbacks.ts';
import { canary, canaryOf } from '../support/canary.ts';
import { coreOf, everything, storeAndMerge } from '../support/core.ts';
import { connect } from '../support/database.ts';
import { reject } from '../support/intake.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { adminToken, allRoutes, makeItNoon, openApp, type Visitor, visitAs } from './support.ts';

const database = useReceiverDatabase();
const now = Math.floor(Date.now() / 1000);

const store = (...callbacks: object[]) => storeAndMerge(coreOf(database), ...callbacks);

const receipt = (receipt_id: number, data: object) =>
  receiptCallback({ event_time: now, data: { receipt_id, created_at: now, ...data } });

const { business_id } = receipt(0, {});
const callback = (event: string, data: object) => ({ ...receipt(0, {}), event, data });
const handleOf = (...subjects: string[]) => patientHandle({ adminToken, oidc: undefined }, subjects);

const entries = (action: string) =>
  database.rows('select * from public.access_log where action = $1 order by entry', [action]);
const countEntries = () => database.count('public.access_log');

const lastEntry = async () =>
  (await database.rows('select * from public.access_log order by entry desc limit 1'))[0]!;
const lastSubjects = async () => (await lastEntry()).subjects;
const hashOf = async (text: string) =>
  (await database.rows('select receiver.hash_of($1) as hash', [text]))[0]!.hash;

const script = '<script>alert(1)</script>';
const hostile = `${canary}"'${script}&amp;`;

/** A callback of each family: what may identify a patient, and what nobody knows, is hostile. */
const hostileCallbacks = () =>
  (families as readonly Family[]).map((family) => {
    const text = JSON.stringify(canaryOf(family, { event_time: now, data: { Entries: 'CONTENT' } }));
    return JSON.parse(text.replaceAll(canary, JSON.stringify(hostile).slice(1, -1))) as Callback;
  });

describe('each page', () => {
  let app: ReturnType<typeof openApp>['app'];
  let deliveries: string[] = [];
  let delivery = '';
  let records: string[] = [];
  let listed = '';
  const visitors = {} as Record<Role, Visitor>;
  beforeAll(async () => {
    ({ app } = openApp(database));
    const [one, ...others] = hostileCallbacks();
    // A search for its id lists both.
    deliveries = await store(one!, ...others, { ...one!, business_id: 'other' });
    [delivery = ''] = deliveries;
    const stored = await database.rows(
      'select family, business_id, record_id from receiver.inbox order by received_at',
    );
    listed = String(stored.find(({ business_id }) => business_id === 'other')!.record_id);
    records = stored.map(
      ({ family, business_id, record_id }) =>
        `/records/${family}?business=${business_id}&id=${encodeURIComponent(String(record_id))}`,
    );
    await database.rows(
      `insert into receiver.aliases (kind, id, alias, updated_by) values ('clinic', $1, $2, 'somebody')`,
      ['c-1', `Clinic ${script}`],
    );
    for (const role of roles) visitors[role] = await visitAs(app, database, [role]);
  });

  const addressesOf = (path: string, refused = delivery): string[] => {
    if (path === '/records/:family') return records;
    if (path === '/callbacks/:id') return deliveries.map((id) => `/callbacks/${id}`);
    if (path === '/search')
      return ['/search', ...deliveries.map((id) => `/search?q=${id}`), `/search?q=${listed}`];
    const id = path.startsWith('/rejected') ? refused : delivery;
    return [path.replace(':handle', handleOf('p:platform:nobody')).replace(':id', id)];
  };
  const textOf = ({ body, text, status }: supertest.Response) => {
    if (!(body instanceof Buffer)) return text;
    if (status !== 200) return body.toString();
    return Object.values(unzipSync(body))
      .map((file) => strFromU8(file))
      .join();
  };

  it.each(roles)(
    'opens for %s as far as the role goes, and shows nothing personal that is not logged',
    async (role) => {
      let shown = 0;
      const [first] = hostileCallbacks();
      const named = { ...first, data: { ...first!.data, receipt_id: hostile } };
      const [refused] = await reject(database, [named]);
      for (const { method, path, takes } of allRoutes()) {
        for (const address of addressesOf(path, refused)) {
          const before = await countEntries();
          const request = method === 'get' ? visitors[role].get(address) : visitors[role].post(address);
          const response = await request.responseType(address.includes('xlsx') ? 'blob' : '');
          const text = textOf(response);
          const about = `${method} ${address}`;
          if (!isAllowed([role], takes)) expect([about, response.status]).toEqual([about, 403]);
          else
            expect([about, [200, 303, 400, 404]]).toEqual([about, expect.arrayContaining([response.status])]);
          if (response.type === 'text/html')
            expect([about, text.includes(script), text.includes('CONTENT')]).toEqual([about, false, false]);
          if (address === `/search?q=${listed}`) expect(text).toContain('other');
          if (!text.includes(canary)) continue;
          shown += 1;
          expect([about, ['desk', 'privacy'].includes(role)]).toEqual([about, true]);
          expect([about, await countEntries()]).toEqual([about, before + 1]);
          if (/^.(records|callbacks|rejected|search)./.test(address))
            expect([about, await lastSubjects()]).not.toEqual([about, []]);
        }
      }
      expect(shown > 2 * families.length).toBe(['desk', 'privacy'].includes(role));
      expect(JSON.stringify(await database.rows('select * from public.access_log'))).not.toContain(canary);
    },
  );

  it('every link on a page leads to a page', async () => {
    const seen = new Set<string>();
    const queue = ['/today', ...lists.map(({ name }) => `/${name}?range=all`), `/callbacks/${delivery}`];
    const broken: string[] = [];
    for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
      // One of each page and of each filter is enough.
      const kind = path.replace(/=[^&]*/g, '').replace(/(patients|callbacks|rejected)\/[^/?]{20,}/, '$1');
      if (seen.has(kind) || /\/(csv|xlsx)/.test(path)) continue;
      seen.add(kind);
      const { status, text } = await visitors.privacy.get(path);
      if (![200, 303].includes(status)) broken.push(`${status} ${path}`);
      const links = (text ?? '').matchAll(/href="\/console(\/[^"]+)"/g);
      queue.push(...Array.from(links, ([, href]) => href!.replaceAll('&amp;', '&')));
    }
    expect(broken).toEqual([]);
    expect(seen.size).toBeGreaterThan(60);
  });

  it('the patient of a record is led to, whatever family it is of', async () => {
    const rows = await database.rows(
      'select distinct on (family) family, id from receiver.inbox order by family',
    );
    for (const { family, id } of rows) {
      const { text } = await visitors.desk.get(`/records/${family}?id=${id}`).expect(200);
      for (const [, href] of text.matchAll(/href="\/console(\/patients\/[^"]+)"/g))
        expect([family, (await visitors.desk.get(href!)).status]).toEqual([family, 200]);
    }
  });

  it('an entry names the patients whose rows were shown', async () => {
    await store(receipt(77, { patient_oid: '7 7', clinic_id: 'c-1' }));
    for (const path of ['/receipts', '/receipts/csv', '/receipts/xlsx']) {
      await visitors.desk.get(path).expect(200);
      expect(await lastSubjects()).toContain(await hashOf('p:platform:7 7'));
    }
    // One that names nobody belongs to the patient of its appointment.
    const visit = { appointment_id: 'a-78', patient_id: '78' };
    await store(
      receipt(78, { aid: 'a-78', patient_oid: undefined, name: 'Asha' }),
      callback('appointment.created', visit),
    );
    await visitors.desk.get(`/records/receipt?business=${business_id}&id=78`).expect(200);
    expect(await lastSubjects()).toContain(await hashOf('p:platform:78'));
  });

  it('an entry has no text that somebody has typed: ids as hashes, and only those that exist', async () => {
    const typed = 'CANARY typed';
    const text = encodeURIComponent(typed);
    for (const name of ['business', 'clinic', 'doctor'])
      for (const format of ['', '/csv', '/xlsx'])
        await visitors.privacy.get(`/receipts${format}?range=all&${name}=${text}`).expect(200);
    await visitors.privacy.get(`/access-log?person=${text}`).expect(200);
    await visitors.operator.post('/names', { kind: 'clinic', id: typed, alias: 'x' }).expect(303);
    await visitors.privacy.post('/sessions/end', { user: typed }).expect(303);
    await visitors.desk.get(`/search?q=${text}`).expect(200);
    const filters = JSON.stringify(
      await database.rows('select actor, filter, subjects from public.access_log'),
    );
    expect(filters).not.toMatch(/typed|9876543210/);
    await visitors.privacy.get('/receipts?range=all&clinic=c-1').expect(200);
    const clinic = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect((await lastEntry()).filter).toMatchObject({ list: 'receipts', clinic });
  });

  it('shows nothing where the access log cannot be written', async () => {
    await database.rows('alter table public.access_log rename to gone');
    try {
      for (const path of ['/receipts', '/receipts/csv', '/access-log']) {
        const { status, text } = await visitors.privacy.get(path);
        expect([status, text.includes(canary)]).toEqual([500, false]);
      }
    } finally {
      await database.rows('alter table public.gone rename to access_log');
    }
  });

  it('is for nobody who has not signed in, and takes no form of another site', async () => {
    for (const { method, path } of allRoutes()) {
      const [address] = addressesOf(path);
      const request = supertest(app)[method](`/console${address}`).set('Origin', 'http://clinic.invalid');
      const { status, text } = await request;
      expect([path, status, text.includes(canary)]).toEqual([path, 401, false]);
      if (method === 'get') continue;
      await visitors.privacy.post(address!).set('Origin', 'http://other.invalid').expect(403);
      await visitors.privacy.post(address!).set('Sec-Fetch-Site', 'cross-site').expect(403);
    }
  });

  it('says so while PostgreSQL is away', async () => {
    const { pool, db } = connect('postgres://127.0.0.1:9/none');
    const away = openApp(database, {}, (core) => ({ ...core, pool, db }));
    const visitor = await visitAs(away.app, database, ['privacy']);
    const { text } = await visitor.get('/today').expect(503);
    expect(text).toContain('PostgreSQL is unavailable');
  });
});

it('without a way to sign in, nothing is served', async () => {
  const { app } = openApp(database, { adminToken: undefined });
  for (const path of ['/', '/console', '/console/today', '/console/assets/console.css'])
    await supertest(app).get(path).expect(404);
  await supertest(openApp(database, { role: 'worker' }).app)
    .get('/console')
    .expect(404);
  await supertest(openApp(database).app).get('/').expect(303).expect('Location', '/console');
});

it('Today has the sums of today, and what was collected today, also for older receipts', async () => {
  await database.rows('truncate receiver.inbox, receipts');
  const reportTimezone = await makeItNoon(database);
  await store(
    receipt(1, { net_amount: 1450.5, amount_paid: 1000 }),
    receipt(2, { net_amount: 100, amount_paid: 100 }),
    receipt(3, { net_amount: 70, amount_paid: 90, receipt_status: 'failed' }),
    // A part of what was due since long ago, and what goes back of an older payment.
    { ...receipt(4, { created_at: now - 40 * 86_400, amount_paid: 0 }), event_time: now - 40 * 86_400 },
    receipt(4, { created_at: now - 40 * 86_400, amount_paid: 300 }),
    { ...receipt(5, { created_at: now - 40 * 86_400, amount_paid: 80 }), event_time: now - 40 * 86_400 },
    receipt(5, { created_at: now - 40 * 86_400, amount_paid: 60 }),
  );
  const visitor = await visitAs(openApp(database, { reportTimezone }).app, database, ['viewer']);
  const { text } = await visitor.get('/today').expect(200);
  for (const sum of ['₹1,550.50', '₹1,380', '₹450.50']) expect(text).toContain(sum);
  for (const path of ['/payments', '/takings', '/takings-by-clinic'])
    expect((await visitor.get(path).expect(200)).text).toContain('<b>₹1,380</b>');
});

it('the history of a receipt tells of the money that moved, as the view of payments does', async () => {
  await database.rows('truncate receiver.inbox, receipts');
  const paid = (second: number, amount_paid: number | null, event = 'receipt.updated') => ({
    ...receipt(9, { net_amount: 500, amount_paid, amount_due: null }),
    ...{ event, event_time: now - 100 + second },
  });
  const paidOnce = paid(0, 200, 'receipt.created');
  await store(paidOnce, paid(1, null), paid(2, 50), paid(3, 75), paid(4, 0, 'receipt.deleted'));
  const visitor = await visitAs(openApp(database).app, database, ['viewer']);
  const { text } = await visitor.get(`/records/receipt?business=${business_id}&id=9`).expect(200);
  for (const said of ['₹200 paid', '₹150 went back', '₹25 paid', 'Deleted · ₹75 went back'])
    expect(text).toContain(said);
});

describe('a patient', () => {
  const own = `/patients/${handleOf('p:platform:4711-abcd')}`;
  let officer: Visitor;
  beforeEach(async () => {
    await database.rows(
      'truncate receiver.inbox, receiver.erased, receiver.erasures, receiver.withheld, receiver.holds, receipts, appointments, consent_forms, admissions',
    );
    officer = await visitAs(openApp(database).app, database, ['privacy']);
    const asha = { patient_oid: '4711-abcd', partner_patient_id: 'own-7', name: 'Asha Canary' };
    await store(
      receipt(1, { ...asha, net_amount: 321, amount_paid: 321 }),
      receipt(2, { patient_oid: 'other', name: 'Ravi' }),
    );
  });

  it('is shown, exported, held and released, each after an entry', async () => {
    const { text } = await officer.get(own).expect(200);
    expect(text).toContain('Asha Canary');
    expect(text).not.toContain('Ravi');
    // The clinic's own id is in the same message, and is joined only where somebody says so.
    expect(text).toMatch(/own-7<\/a>.*Show both as one/s);
    const exported = await officer.post(`${own}/export`).expect(200);
    expect(exported.headers['content-disposition']).toContain('patient.json');
    expect(JSON.stringify(exported.body)).toContain('Asha Canary');
    await officer.post(`${own}/hold`).expect(303).expect('Location', `/console${own}`);
    expect((await officer.get(own)).text).toContain('Release the hold');
    await officer.post(`${own}/release`).expect(303);
    expect((await officer.get(own)).text).toContain('Keep (legal hold)');
    for (const action of ['reveal', 'export', 'hold', 'release'])
      expect((await entries(action)).at(-1)).toMatchObject({
        actor: 'subject-privacy',
        subjects: expect.arrayContaining([expect.any(String)]),
      });
  });

  it('has its receipts with their states, appointments and papers, and sums of what counts', async () => {
    const mine = { patient_oid: '4711-abcd', created_at: now - 86_400 };
    const paper = { patientid: '4711-abcd', type: 'mcert', url: 'https://f.invalid/paper' };
    const stay = { pid: '4711-abcd', admission_date: now - 86_400, totalbilled: 9000, totalpaid: 1000 };
    const visit = { patient_id: '4711-abcd', status: 'CM', created_at: now };
    await store(
      receipt(3, { ...mine, receipt_number: 'R-3', net_amount: 100, amount_paid: 40, aid: 'a1' }),
      receipt(4, { ...mine, receipt_number: 'R-4', net_amount: 7000, receipt_status: 'FAILED' }),
      receipt(5, { ...mine, receipt_number: 'R-5', net_amount: 8000 }),
      { ...callback('receipt.deleted', { receipt_id: 5 }), event_time: now + 1 },
      receipt(6, { patient_oid: 'other', receipt_number: 'R-6' }),
      callback('appointment.updated', { ...visit, appointment_id: 'a1' }),
      callback('appointment.updated', { ...visit, appointment_id: 'a2' }),
      callback('mcert.created', { ...paper, id: 'f1' }),
      callback('ipd_admissions.created', { ...stay, id: 'ad1' }),
    );
    const { text } = await officer.get(own).expect(200);
    // Deleted and failed receipts are listed, and in no sum.
    for (const sum of ['₹421</b> billed, 2 receipts', '₹361</b> paid', '₹60</b> due on receipts since'])
      expect(text).toContain(sum);
    for (const [row, state] of Object.entries({ 'R-3': 'Part paid', 'R-4': 'Failed', 'R-5': 'Deleted' }))
      expect(text).toMatch(new RegExp(`${row}<(?:(?!</tr>).)*>${state}<`));
    for (const id of ['a1', 'a2', 'f1', 'ad1']) expect(text).toContain(`id=${id}"`);
    for (const shown of ['>₹8,000<', '>Medical certificate<', 'https://f.invalid/paper'])
      expect(text).toContain(shown);
    expect(text).not.toContain('R-6');
  });

  it('has a way from who has looked to all entries, for privacy alone', async () => {
    const [log] = /access-log\?patient=[\w-]+/.exec((await officer.get(own)).text)!;
    expect((await officer.get(`/${log}`).expect(200)).text).toContain('subject-privacy');
    const desk = await visitAs(openApp(database).app, database, ['desk']);
    expect((await desk.get(own)).text).not.toContain('/access-log');
  });

  it('is shown to the desk, at an address without the id, and to nobody without the role', async () => {
    const { app } = openApp(database);
    const desk = await visitAs(app, database, ['desk']);
    const { text } = await desk.get(own).expect(200);
    expect(text).toContain('Asha Canary');
    for (const hidden of ['/hold', '/erase', '/export']) expect(text).not.toContain(`${own}${hidden}`);
    for (const role of ['viewer', 'operator'] as const)
      await (await visitAs(app, database, [role])).get(own).expect(403);
    await desk.get('/patients/4711-abcd').expect(404);
    expect(own).not.toContain('4711');
    expect((await desk.get('/receipts?range=all')).text).toContain(`/console${own}`);
  });

  it('whose callbacks do not fit into memory is not exported at once', async () => {
    await database.rows(`
      update receiver.inbox set envelope = jsonb_build_object('data', jsonb_build_object('x', repeat('x', 33554432)))
      where id = (select id from receiver.inbox where 'p:platform:4711-abcd' = any(subjects))`);
    expect((await officer.post(`${own}/export`).expect(400)).text).toContain('receiver sql');
  });

  it('whom nobody names cannot be held or erased', async () => {
    const nobody = `/patients/${handleOf('p:platform:nobody')}`;
    for (const path of [nobody, `${nobody}/erase`]) await officer.get(path).expect(404);
    for (const handle of ['nobody', handleOf()])
      for (const action of ['hold', 'erase', 'export'])
        await officer.post(`/patients/${handle}/${action}`).expect(404);
  });

  it('has its name on an appointment, and others that an erasure may be about have theirs in its preview', async () => {
    await store(
      callback('appointment.updated', { appointment_id: 'a1', patient_id: '4711-abcd' }),
      receipt(3, { patient_oid: 'other', name: 'Ravi', remarks: 'sister of 4711-abcd' }),
    );
    const { text } = await officer.get(`/records/appointment?business=${business_id}&id=a1`).expect(200);
    expect(text).toContain(`<a href="/console${own}">Asha Canary</a>`);
    expect((await officer.get(`${own}/erase`)).text).toContain('receipt.created, Ravi</a>');
    expect((await entries('reveal')).at(-1)!.subjects).toContain(await hashOf('p:platform:other'));
  });

  it('is erased on the pages, after a preview and the end of the id', async () => {
    const preview = await officer.get(`${own}/erase`).expect(200);
    for (const shown of ['Asha Canary', 'Receipt: 1', 'last four characters of 4711-abcd'])
      expect(preview.text).toContain(shown);
    await officer.post(`${own}/erase`, { confirm: 'yes' }).expect(400);
    await officer.post(`${own}/erase`).expect(400);
    expect(await everything(coreOf(database))).toContain('Asha Canary');

    const erased = await officer.post(`${own}/erase`, { confirm: 'abcd' }).expect(303);
    expect(erased.headers.location).toBe('/console/erasures');
    const left = await everything(coreOf(database));
    expect(left).not.toMatch(/Asha Canary|4711-abcd|own-7/);
    expect(left).toMatch(/Ravi/);
    expect(await database.rows('select net_amount from receipts where receipt_id = 1')).toEqual([
      { net_amount: '321' },
    ]);
    const { text } = await officer.get('/erasures');
    expect(text).toContain('receipt 1');
    expect(text).toContain('subject-privacy');
    await officer.get(own).expect(404);
    expect(await entries('erase')).toHaveLength(1);
  });

  it.each([
    ['platform:MRN 123', '123'],
    ['platform:p1', 'p1'],
    ['partner:b:7', '7'],
  ])('is erased by the end of the id %s, which is %s', async (id, confirm) => {
    const address = `/patients/${handleOf(`p:${id}`)}/erase`;
    await officer.post(address, { confirm: `0${confirm}` }).expect(400);
    await officer.post(address, { confirm }).expect(303);
  });

  it('has rejected messages, and that there are more to look at, in the preview of an erasure', async () => {
    await reject(database, [{ event: 'receipt.updated', data: { patient_oid: '4711-abcd' } }]);
    const { text } = await officer.get(`${own}/erase`).expect(200);
    expect(text).toContain('1 rejected message goes');
    expect(text).not.toContain('There are more');
    await database.rows(`insert into receiver.quarantine (id, path, family, reason, errors, body)
      select gen_random_uuid(), '/x', 'receipt', 'invalid', '[]', 'about 4711-abcd' from generate_series(1, 501)`);
    expect((await officer.get(`${own}/erase`).expect(200)).text).toContain('There are more');
  });

  it('is not erased once more with a message that is erased already', async () => {
    const [note] = await store(receipt(3, { patient_oid: 'other', remarks: 'sister of 4711-abcd' }));
    const before = (await entries('erase')).length;
    const form = { confirm: 'abcd', also: [note!] };
    await officer.post(`${own}/erase`, form).expect(303);
    expect((await officer.post(`${own}/erase`, form).expect(400)).text).toContain('erased already');
    expect(await entries('erase')).toHaveLength(before + 1);
  });
});
