import { strFromU8, unzipSync } from 'fflate';
import supertest from 'supertest';
import type { Family } from '../../src/callbacks/families/family.ts';
import { families } from '../../src/callbacks/families/index.ts';
import { type Role, roles } from '../../src/common/config/value-types.ts';
import { isAllowed } from '../../src/console/page.ts';
import { reports } from '../../src/console/reports/definitions.ts';
import { listAccess } from '../../src/privacy/audit.ts';
import { type Callback, receiptCallback } from '../support/callbacks.ts';
import { canary, canaryOf } from '../support/canary.ts';
import { coreOf, everything, mergeAll } from '../support/core.ts';
import { connect } from '../support/database.ts';
import { deliveryOf } from '../support/intake.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { allRoutes, openApp, type Visitor, visitAs } from './support.ts';

const database = useReceiverDatabase();
const now = Math.floor(Date.now() / 1000);

async function store(...callbacks: Callback[]): Promise<string[]> {
  const deliveries = callbacks.map((callback) => deliveryOf(callback));
  await database.store(...deliveries);
  await mergeAll(coreOf(database));
  return deliveries.map(({ id }) => id);
}

const receipt = (receipt_id: number, data: object) =>
  receiptCallback({ event_time: now, data: { receipt_id, created_at: now, ...data } });

const entries = (action: string) =>
  database.rows('select * from public.access_log where action = $1 order by entry', [action]);
const countEntries = async () =>
  (await database.rows('select count(*)::int as n from public.access_log'))[0]!.n as number;

const script = '<script>alert(1)</script>';
const hostile = `${canary}"'${script}&amp;`;

/** A callback of each family: what may identify a patient, and what nobody knows, is hostile. */
const hostileCallbacks = () =>
  (families as readonly Family[]).map((family) => {
    const text = JSON.stringify(canaryOf(family, { event_time: now }));
    return JSON.parse(text.replaceAll(canary, JSON.stringify(hostile).slice(1, -1))) as Callback;
  });

describe('each page', () => {
  let app: ReturnType<typeof openApp>['app'];
  let delivery = '';
  const visitors = {} as Record<Role, Visitor>;
  beforeAll(async () => {
    ({ app } = openApp(database));
    [delivery = ''] = await store(...hostileCallbacks());
    await database.rows(
      `insert into receiver.aliases (kind, id, alias, updated_by) values ('clinic', $1, $2, 'somebody')`,
      ['c-1', `Clinic ${script}`],
    );
    for (const role of roles) visitors[role] = await visitAs(app, database, [role]);
  });

  const downloads = ['receipts', 'other_events', 'schema_drift'];
  const addressesOf = (path: string) =>
    path.includes(':view')
      ? (/csv|xlsx/.test(path) ? downloads : reports.map(({ view }) => view)).map((view) =>
          path.replace(':view', `${view}`).concat('?range=all'),
        )
      : [path.replace(':id', delivery).replace(':family', 'receipt')];
  const textOf = ({ body, text }: supertest.Response) =>
    body instanceof Buffer
      ? Object.values(unzipSync(body))
          .map((file) => strFromU8(file))
          .join()
      : text;

  it.each(roles)(
    'opens for %s as far as the role goes, and shows nothing personal that is not logged',
    async (role) => {
      let shown = 0;
      for (const { method, path, takes } of allRoutes()) {
        for (const address of addressesOf(path)) {
          const before = await countEntries();
          const request = method === 'get' ? visitors[role].get(address) : visitors[role].post(address);
          const response = await request.responseType(address.includes('xlsx') ? 'blob' : '');
          const text = textOf(response);
          const about = `${method} ${address}`;
          if (!isAllowed([role], takes)) expect([about, response.status]).toEqual([about, 403]);
          else
            expect([about, [200, 303, 400, 404]]).toEqual([about, expect.arrayContaining([response.status])]);
          if (response.type === 'text/html') expect([about, text.includes(script)]).toEqual([about, false]);
          if (!text.includes(canary)) continue;
          shown += 1;
          expect([about, ['desk', 'privacy'].includes(role)]).toEqual([about, true]);
          expect([about, await countEntries()]).toEqual([about, before + 1]);
        }
      }
      expect(shown > 10).toBe(['desk', 'privacy'].includes(role));
    },
  );

  it('an entry names the patients whose rows were shown', async () => {
    const subjects = async (text: string) =>
      (await database.rows('select receiver.hash_of($1) as hash', [text]))[0]!.hash;
    await store(receipt(77, { patient_oid: '7 7' }));
    for (const path of ['/reports/receipts', '/reports/receipts/csv', '/reports/receipts/xlsx']) {
      await visitors.desk.get(path).expect(200);
      const [last] = await database.rows('select * from public.access_log order by entry desc limit 1');
      expect(last!.subjects).toContain(await subjects('p:platform:7 7'));
    }
  });

  it('an entry has no text that somebody has typed: ids as hashes, and only those that exist', async () => {
    const typed = 'CANARY typed';
    const day = '?range=all';
    for (const name of ['business', 'clinic', 'doctor'])
      for (const format of ['', '/csv', '/xlsx'])
        await visitors.privacy
          .get(`/reports/receipts${format}${day}&${name}=${encodeURIComponent(typed)}`)
          .expect(400);
    await visitors.privacy.get(`/reports/receipts${day}&receipt=9876543210`).expect(200);
    for (const name of ['actor', 'action'])
      await visitors.privacy.get(`/access-log?${name}=${encodeURIComponent(typed)}`).expect(200);
    await visitors.operator.post('/aliases', { kind: 'clinic', id: typed, alias: 'x' }).expect(303);
    await visitors.privacy.post('/sessions/end', { user: typed }).expect(303);
    await visitors.privacy.post('/patients', { patient: typed }).expect(404);
    await visitors.privacy.post('/access-log', { patient: typed }).expect(200);
    await visitors.desk.get(`/search?q=${encodeURIComponent(typed)}`).expect(200);
    const filters = JSON.stringify(
      await database.rows('select actor, filter, subjects from public.access_log'),
    );
    expect(filters).not.toMatch(/typed|9876543210/);
    await visitors.privacy.get(`/reports/receipts${day}&receipt=77`).expect(200);
    const [last] = await database.rows('select filter from public.access_log order by entry desc limit 1');
    expect(last!.filter).toMatchObject({
      report: 'receipts',
      receipt: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('the access log opens beside entries of large downloads, and does not read their hashes', async () => {
    await database.rows(`
      insert into public.access_log (actor, action, subjects, filter)
      select 'somebody', 'download', array(select encode(sha256((n || '-' || m)::bytea), 'hex') from generate_series(1, 20000) m), '{}'
      from generate_series(1, 10) n`);
    const { text } = await visitors.privacy.get('/access-log?action=download').expect(200);
    expect(text).toContain('hundreds');
    const list = await listAccess(coreOf(database).db, { actor: 'somebody' }, 100);
    expect(list.map(({ patients }) => patients)).toEqual(Array(10).fill(null));
    expect(JSON.stringify(list).length).toBeLessThan(10_000);
  });

  it('shows nothing where the access log cannot be written', async () => {
    await database.rows('alter table public.access_log rename to gone');
    try {
      for (const path of ['/reports/receipts', '/reports/receipts/csv', '/access-log']) {
        const { status, text } = await visitors.privacy.get(path);
        expect([status, text.includes(canary)]).toEqual([500, false]);
      }
      await visitors.privacy.post('/patients', { patient: `platform:${hostile}` }).expect(500);
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
    const { pool } = connect('postgres://127.0.0.1:9/none');
    const away = openApp(database, {}, (core) => ({ ...core, pool }));
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
  const visitor = await visitAs(openApp(database).app, database, ['viewer']);
  const { text } = await visitor.get('/today').expect(200);
  for (const sum of ['₹1,550.50', '₹1,380.00', '₹450.50']) expect(text).toContain(sum);
  const payments = await visitor.get('/reports/payments?range=today').expect(200);
  expect(/<tfoot>.*<\/tfoot>/s.exec(payments.text)![0]).toContain('₹1,380.00');
});

it('an operator names a clinic, and a viewer sees the name', async () => {
  const { app } = openApp(database);
  const operator = await visitAs(app, database, ['operator']);
  const viewer = await visitAs(app, database, ['viewer']);
  const name = (alias: string) => operator.post('/aliases', { kind: 'clinic', id: 'c-9', alias }).expect(303);
  await name('Lake Clinic');
  expect((await viewer.get('/aliases')).text).toContain('Lake Clinic');
  await name('');
  expect((await viewer.get('/aliases')).text).not.toContain('c-9');
});

describe('a patient', () => {
  const ids = { patient: 'platform:4711-abcd' };
  const subjects = { subjects: '["p:platform:4711-abcd"]' };
  const own = { patient_oid: '4711-abcd' };
  let officer: Visitor;
  beforeEach(async () => {
    await database.rows(
      'truncate receiver.inbox, receiver.erased, receiver.erasures, receiver.withheld, receiver.holds, receipts',
    );
    officer = await visitAs(openApp(database).app, database, ['privacy']);
    await store(
      receipt(1, { ...own, name: 'Asha Canary', partner_patient_id: 'own-7', net_amount: 321 }),
      receipt(2, { patient_oid: 'other', name: 'Ravi' }),
    );
  });

  it('is shown, exported, held and released, each after an entry', async () => {
    const { text } = await officer.post('/patients', ids).expect(200);
    expect(text).toContain('Asha Canary');
    expect(text).not.toContain('Ravi');
    // The clinic's own id is in the same message.
    expect(text).toMatch(/partner:[^ ]*:own-7 is the same patient/);
    const exported = await officer.post('/patients/export', subjects).expect(200);
    expect(exported.headers['content-disposition']).toContain('patient.json');
    expect(JSON.stringify(exported.body)).toContain('Asha Canary');
    expect((await officer.post('/patients/hold', subjects)).text).toContain('Release the hold');
    expect((await officer.post('/patients/release', subjects)).text).toContain('Keep (legal hold)');
    for (const action of ['reveal', 'export', 'hold', 'release'])
      expect((await entries(action)).at(-1)).toMatchObject({
        actor: 'subject-privacy',
        subjects: [expect.any(String)],
      });
  });

  it('whose callbacks do not fit into memory is not read at once', async () => {
    await database.rows(`
      update receiver.inbox set envelope = jsonb_build_object('data', jsonb_build_object('x', repeat('x', 33554432)))
      where 'p:platform:4711-abcd' = any(subjects)`);
    for (const path of ['/patients', '/patients/export'])
      expect((await officer.post(path, subjects).expect(400)).text).toContain('receiver sql');
  });

  it('may have a comma in its id', async () => {
    await store(receipt(3, { patient_oid: 'P,7', name: 'Comma Canary' }));
    expect((await officer.post('/patients', { patient: 'P,7' }).expect(200)).text).toContain('Comma Canary');
  });

  it('whom nobody names is not found, and cannot be held or erased', async () => {
    const { text } = await officer.post('/patients', { patient: 'Asha Canary' }).expect(404);
    expect(text).toContain('If a rejected callback may name one, enter platform:Asha Canary');
    for (const action of ['hold', 'erase/preview', 'erase'])
      await officer.post(`/patients/${action}`, { patient: 'nobody', confirm: 'body' }).expect(404);
    expect((await officer.post('/access-log', { patient: 'stranger' })).text).toContain(
      'Nobody with this id',
    );
  });

  it('is erased on the pages, after a preview and the end of the id', async () => {
    const preview = await officer.post('/patients/erase/preview', subjects).expect(200);
    for (const shown of ['Asha Canary', 'Receipt.created', 'last four characters of platform:4711-abcd'])
      expect(preview.text).toContain(shown);
    await officer.post('/patients/erase', { ...subjects, confirm: 'yes' }).expect(400);
    await officer.post('/patients/erase', subjects).expect(400);
    expect(await everything(coreOf(database))).toContain('Asha Canary');

    await officer
      .post('/patients/erase', { ...subjects, confirm: 'abcd' })
      .expect(303)
      .expect('Location', '/console/patients');
    const left = await everything(coreOf(database));
    expect(left).not.toMatch(/Asha Canary|4711-abcd|own-7/);
    expect(left).toMatch(/Ravi/);
    expect(await database.rows('select net_amount from receipts where receipt_id = 1')).toEqual([
      { net_amount: '321' },
    ]);
    expect((await officer.get('/patients')).text).toContain('receipt 1');
    expect((await officer.post('/patients', subjects)).status).toBe(404);
    expect(await entries('erase')).toHaveLength(1);
  });
});
