import { patientHandle } from '../../src/console/patient-handle.ts';
import { logAccess } from '../../src/receiver/store/log-access.ts';
import { samples } from '../support/callbacks.ts';
import { coreOf, storeAndMerge } from '../support/core.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { adminToken, openApp, textOf, type Visitor, visitAs } from './support.ts';

const database = useReceiverDatabase();
const actor = { id: 'priya-1', name: 'Priya' };
const asha = ['p:platform:asha-4711'];
const handle = patientHandle({ adminToken, oidc: undefined }, asha);
let officer: Visitor;
let viewer: Visitor;
beforeAll(async () => {
  const { app } = openApp(database);
  officer = await visitAs(app, database, ['privacy']);
  viewer = await visitAs(app, database, ['viewer']);
  const core = coreOf(database);
  const list = { list: 'receipts', range: 'last_month', personal: true };
  await logAccess(core, { actor, action: 'list', filter: list, ids: { business: 'b1' }, rows: 200 });
  await logAccess(core, { actor: { id: 'ravi-2' }, action: 'reveal', subjects: asha, rows: 1 });
  await logAccess(core, {
    actor,
    action: 'quarantine drop',
    filter: { quarantine: '00000000-0000-8000-8000-000000000000' },
  });
});

it('says in words who did what, and reading it is an entry', async () => {
  const { text } = await officer.get('/access-log').expect(200);
  expect(textOf(text)).toMatch(
    /Priya opened a list 200 – (?=.*list receipts)(?=.*range last month)(?=.*one business)(?=.*personal)/,
  );
  expect(text).toContain('href="/console/rejected/00000000-0000-8000-8000-000000000000"');
  expect(await lastEntry()).toMatchObject({ action: 'audit', rows: 3 });
  const ofPriya = textOf((await officer.get('/access-log?person=priya-1')).text);
  expect(ofPriya).toContain('deleted rejected messages');
  expect(ofPriya).not.toContain('ravi-2');
  expect(textOf((await officer.get('/access-log?action=reveal&range=last_7_days')).text)).toContain(
    'ravi-2 opened names 1 1',
  );
});

it('says on paper whose entries these are', async () => {
  const headOf = async (query: string) =>
    /class="printed">(.*?)<\/tr>/.exec((await officer.get(`/access-log?${query}`).expect(200)).text)![1];
  expect(await headOf('person=priya-1')).toContain('Access log · All days · Person: priya-1');
  expect(await headOf(`patient=${handle}`)).toContain('Access log · All days · One patient');
});

it('has who has seen a patient, at an address without the id, and tells no typed text to the log', async () => {
  const page = textOf((await officer.get(`/access-log?patient=${handle}`).expect(200)).text);
  expect(page).toContain('ravi-2 opened names');
  expect(page).not.toContain('opened a list 200');
  await officer.get('/access-log?action=CANARY').expect(400);
  await officer.get('/access-log?patient=CANARY').expect(400);
  const hash = await database.rows('select receiver.hash_of($1) as hash', asha);
  for (const path of ['/access-log', '/access-log/csv']) {
    await officer.get(`${path}?patient=${handle}`).expect(200);
    expect(await loggedOf(path.endsWith('csv') ? 'download' : 'audit')).toEqual([hash[0]!.hash]);
    await officer.get(`${path}?person=priya-1`).expect(200);
    expect((await lastEntry()).filter).toMatchObject({ person: expect.stringMatching(/^[\da-f]{64}$/) });
  }
  await officer.get('/access-log?person=CANARY').expect(200);
  const log = JSON.stringify(await database.rows('select filter, subjects from public.access_log'));
  expect(log).not.toMatch(/CANARY|asha/);
});

/** The newest entry, or that of an action. */
const lastEntry = async (action?: string) => {
  const newest = 'select * from access_log where action = coalesce($1, action) order by entry desc limit 1';
  return (await database.rows(newest, [action]))[0]!;
};
const loggedOf = async (action: string) => (await lastEntry(action)).subjects as string[];

it('has each patient of a list once', async () => {
  const booking = (appointment_id: string) =>
    samples.appointment({
      data: {
        ...{ appointment_id, start_time: 1_700_000_000, patient_id: 'twice-1' },
        partner_patient_id: undefined,
      },
    });
  await storeAndMerge(coreOf(database), booking('a-1'), booking('a-2'));
  await officer.get('/appointments?range=all').expect(200);
  expect(await loggedOf('list')).toHaveLength(1);
  await officer.get('/appointments/csv?range=all').expect(200);
  expect(await loggedOf('download')).toHaveLength(1);
});

it('has those whom only the clinic’s own id in the callback names', async () => {
  const own = { partner_patient_id: 'own-9' };
  const bill = (receipt_id: number) =>
    samples.receipt({ data: { ...own, receipt_id, net_amount: 9, amount_paid: 1, amount_due: 8 } });
  const { business_id } = bill(91);
  await storeAndMerge(
    coreOf(database),
    ...[bill(91), bill(92), samples.admission({ data: own })],
    samples.appointment({ data: { ...own, appointment_id: 'a-9', start_time: 1_700_000_000 } }),
  );
  const [row] = await database.rows('select receiver.hash_of($1) as hash', [
    `p:partner:${business_id}:own-9`,
  ]);
  for (const list of ['appointments', 'admissions', 'unpaid', 'twice']) {
    await officer.get(`/${list}?range=all`).expect(200);
    expect([list, await loggedOf('list')]).toEqual([list, expect.arrayContaining([row!.hash])]);
  }
});

it('does not say that somebody has seen patients who got no personal column of them', async () => {
  await viewer.get('/appointments/csv?range=all').expect(200);
  expect(await loggedOf('download')).toEqual([]);
});

it('has every entry once on its pages, also those that a move has brought from an older log', async () => {
  const add = (from: number, to: number, days: number) =>
    database.rows(`
      insert into access_log (at, actor, actor_name, action, subjects, filter, rows)
      select now() - interval '${days} days', 'mover', 'Entry-' || n, 'reveal', '{}', '{}', 1 from generate_series(${from}, ${to}) n order by n`);
  await add(1, 120, 0);
  await add(121, 170, 60);
  const listed: string[] = [];
  for (const page of [1, 2]) {
    const { text } = await officer.get(`/access-log?person=mover&page=${page}`).expect(200);
    listed.push(...Array.from(text.matchAll(/>Entry-(\d+)</g), ([, n]) => n!));
  }
  expect(listed).toEqual(Array.from({ length: 170 }, (_, n) => `${170 - n}`));
});
