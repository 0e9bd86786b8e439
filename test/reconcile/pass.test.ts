import fc from 'fast-check';
import type { ServiceClient } from '../../src/client/index.ts';
import { addDays } from '../../src/common/days.ts';
import { erasePatient } from '../../src/privacy/erase.ts';
import type { RunningCore } from '../../src/receiver/feature.ts';
import { rebuildRows } from '../../src/receiver/worker/rebuild.ts';
import { reconciliation } from '../../src/reconcile/feature.ts';
import { openClient, type PassOptions, runPass } from '../../src/reconcile/pass.ts';
import { readAppointments } from '../../src/reconcile/read-appointments.ts';
import { everything, mergeAll } from '../support/core.ts';
import { deliveryOf } from '../support/intake.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { business, coreWith, type Listed, type Platform, startPlatform } from './platform.ts';

const database = useReceiverDatabase();
const clear = () =>
  database.rows(
    'truncate receiver.inbox, receiver.pending_deliveries, receiver.reconciliations, receiver.erased, receiver.erasures, receiver.withheld, appointments',
  );
const daySeconds = 86_400;
const today = new Date().toISOString().slice(0, 10);
/** Three days ago, at noon in India. */
const noon = Date.parse(`${addDays(today, -3)}T06:30Z`) / 1000;

type Row = Record<string, unknown>;

let platform: Platform;
let core: RunningCore;
beforeEach(async () => {
  await clear();
  platform = await startPlatform(noon);
  core = coreWith(database, platform);
});

const signal = new AbortController().signal;
/** A pass over all days of the tests. */
const pass = async (more: Partial<PassOptions> = {}) => {
  const days = { from: addDays(today, -10), to: addDays(today, 10) };
  const options = { ...days, actor: 'test', signal, ...more };
  const { business, counts } = await runPass(core, openClient(core), options);
  return { business, ...counts };
};
const runTask = (stop = signal) => reconciliation.tasks!(core)[0]!.run(stop);
const check = async () => {
  const { title, status } = (await reconciliation.checks!(core))[0]!;
  return `${status} ${title}`;
};
const rows = (columns: string) =>
  database.rows(`select ${columns} from appointments order by appointment_id`) as Promise<Row[]>;
/** A line for each row, without what is null. */
const lines = async (...columns: string[]) =>
  (await rows(`concat_ws(' ', appointment_id, ${columns}) as line`)).map(({ line }) => line);
const store = (...callbacks: object[]) => database.store(...callbacks.map((one) => deliveryOf(one)));

/** Books one at the head of the list. */
function book(id: string, more: object = {}): Listed {
  const times = { created_at: platform.now - daySeconds, start_time: platform.now };
  const one = {
    appointment_id: id,
    patient_id: `p-${id}`,
    status: 'BK',
    ...times,
    mode: 'tele',
    custom_attributes: {},
    ...more,
  };
  platform.listed.unshift(one);
  return one;
}
const callbackOf = (
  { mode: _, start_time: __, custom_attributes: ___, ...data }: Listed,
  more: object = {},
  at = platform.now,
) => ({
  ...{ event: 'appointment.updated', event_time: at, business_id: business, client_id: 'c-1' },
  data: { ...data, ...more },
});

it('what no callback told of comes in once, what differs is changed, and what agrees is left alone', async () => {
  const [told, changed] = [book('told'), book('changed'), book('missing')];
  const extras = { custom_attributes: { label: ['new'] }, created_at: Number(told!.created_at) * 1000 + 123 };
  await store(callbackOf(told!, extras), callbackOf(changed!, extras));
  Object.assign(changed!, { status: 'CM', custom_attributes: { lean: true } });
  platform.now += daySeconds;
  const found = { agrees: 1, missing: 1, differs: 1 };
  expect(await pass({ isDryRun: true })).toMatchObject({ ...found, stored: 2 });
  expect([await database.count('receiver.inbox'), await database.count('receiver.reconciliations')]).toEqual([
    2, 0,
  ]);
  expect(await pass()).toMatchObject({ ...found, stored: 2 });
  // Also before they are merged.
  expect(await pass()).toMatchObject({ agrees: 3, stored: 0 });
  await mergeAll(core);
  expect(
    await lines('status', 'patient_id', 'client_id', 'custom_attributes', 'extra', 'last_event'),
  ).toEqual([
    'changed CM p-changed c-1 {"label": ["new"]} {"mode": "tele"} appointment.reconciled',
    'missing BK p-missing  {"mode": "tele"} appointment.reconciled',
    'told BK p-told c-1 {"label": ["new"]} appointment.updated',
  ]);
  expect((await rows('created_at'))[0]!.created_at).toEqual(new Date(extras.created_at));
  expect(await rebuildRows(core)).toMatchObject({ changed: 0, unreadable: 0, rows: 0 });
});

it('each page is read, a shifted appointment once, and a repeated page is the last', async () => {
  for (let n = 0; n < 70; n += 1) book(`a-${n}`);
  platform.now += daySeconds;
  platform.onPage = (page) => page === 1 && book('late', { created_at: noon, start_time: noon });
  // The new one is on a page that was read before.
  expect(await pass()).toMatchObject({ compared: 70, missing: 70, stored: 70 });
  platform.onPage = () => {};
  expect(await pass()).toMatchObject({ compared: 71, missing: 1, stored: 1 });
  platform.pages = 2;
  expect(await pass()).toMatchObject({ compared: 60, stored: 0 });
});

it('fields that say nothing, or cannot be stored, stop nothing', async () => {
  book('blank', { status: '', patient_id: null, created_at: 0 });
  book('odd', { channel: 7, doctor_id: {}, end_time: 'soon', created_at: platform.now + 9 * daySeconds });
  book('\u0000');
  book('of a bad text', { mode: 'x\u0000' });
  platform.now += daySeconds;
  expect(await pass()).toMatchObject({ missing: 2, unreadable: 2, stored: 2 });
  expect(await pass()).toMatchObject({ agrees: 2, unreadable: 2, stored: 0 });
  await mergeAll(core);
  expect(await lines('status', 'created_at')).toEqual(['blank', 'odd BK']);
});

it('a failing platform leaves everything as it was, and is shown until a pass succeeds', async () => {
  for (let n = 0; n < 40; n += 1) book(`a-${n}`);
  platform.now += daySeconds;
  const shown: unknown[] = [await check()];
  const details: unknown[] = [];
  platform.refuses = { '/dr/v1/appointment': 403 };
  await expect(runTask()).rejects.toThrow(/403/);
  shown.push(await check());
  expect(await database.count('receiver.inbox')).toBe(0);
  platform.refuses = {};
  const stopping = new AbortController();
  platform.onPage = (page) => page === 1 && stopping.abort(new Error('stopped'));
  await expect(runTask(stopping.signal)).rejects.toThrow('stopped');
  expect(
    await database.rows(
      `select error, counts->>'stored' as stored from receiver.reconciliations order by id`,
    ),
  ).toEqual([
    { error: expect.stringContaining('403'), stored: null },
    { error: 'interrupted', stored: '30' },
  ]);
  for (let passes = 0; passes < 2; passes += 1) {
    await runTask();
    expect(await database.count('receiver.inbox')).toBe(40);
    shown.push(await check());
    details.push((await reconciliation.checks!(core))[0]!.detail);
  }
  expect(details).toEqual([expect.stringContaining(' 40 were'), expect.stringContaining(' 0 were')]);
  await database.rows(`update receiver.reconciliations set ended_at = ended_at - interval '3 days'`);
  expect([...shown, await check()]).toEqual([
    'warn The reconciliation is overdue',
    'warn The reconciliation has failed',
    'warn Callbacks did not arrive',
    'ok Appointments are those of the platform',
    'warn The reconciliation is overdue',
  ]);
});

it('an erased patient’s appointment stays without the person, unless it was booked since', async () => {
  const told = book('told');
  const { patient_id } = told;
  book('never told', { patient_id });
  book('without a time', { patient_id, created_at: null });
  book('of another');
  await store(callbackOf(told, {}, noon - 60));
  await mergeAll(core);
  await erasePatient(core, { id: 'somebody' }, ['p:platform:p-told']);
  // It was some days ago.
  await database.rows(
    `update receiver.erased set until = to_timestamp(${noon - daySeconds / 2}) where isfinite(until)`,
  );
  platform.now += daySeconds;
  told.status = 'CM';
  expect(await pass()).toMatchObject({ missing: 3, differs: 1, stored: 4 });
  expect(await pass()).toMatchObject({ agrees: 4, stored: 0 });
  await mergeAll(core);
  expect(await everything(core)).not.toContain('p-told');
  book('booked since', { patient_id, created_at: noon });
  told.status = 'AB';
  expect(await pass()).toMatchObject({ missing: 1, differs: 1, stored: 2 });
  await mergeAll(core);
  expect(await lines('status', 'patient_id')).toEqual([
    'booked since BK p-told',
    'never told BK',
    'of another BK p-of another',
    'told AB',
    'without a time BK',
  ]);
  await erasePatient(core, { id: 'somebody' }, ['p:platform:p-told']);
  expect(await everything(core)).not.toContain('p-told');
});

it('an appointment that has just changed is left to the next pass', async () => {
  const [behind, booked] = [book('behind'), book('booked', { created_at: noon })];
  await store(callbackOf(behind!, { status: 'CM' }));
  platform.now += 60;
  expect(await pass()).toMatchObject({ recent: 2, missing: 0, differs: 0, stored: 0 });
  behind!.status = 'CM';
  await store(callbackOf(booked!));
  expect(await pass()).toMatchObject({ agrees: 2 });
});

it('a read is older than callbacks of its second, also where the platform’s clock is ahead', async () => {
  const began = Math.floor(Date.now() / 1000) * 1000;
  for (const answeredAt of [new Date(began), new Date(began + 9_000_000)]) {
    const list = async () => ({ appointments: [], answeredAt, raw: {} });
    const client = { listAppointments: list } as unknown as ServiceClient;
    for await (const { askedMs } of readAppointments(client, { from: today, to: today }, signal))
      expect(Math.min(answeredAt.getTime(), Date.now()) - askedMs).toBeGreaterThanOrEqual(1_000);
  }
});

it('what the retention has deleted does not come back; without RECONCILE there is no task and no check', async () => {
  book('old', { created_at: noon - 5 * daySeconds, start_time: noon - 3 * daySeconds });
  book('new');
  book('booked long ago', { created_at: noon - 5 * daySeconds, start_time: noon });
  platform.now += daySeconds / 24;
  const retention = { appointment: 2 * daySeconds * 1000 };
  core = coreWith(database, platform, { retention, reconcile: undefined });
  expect(await pass()).toMatchObject({ expired: 1, missing: 2, stored: 2 });
  expect([reconciliation.tasks!(core), await reconciliation.checks!(core)]).toEqual([[], []]);
});

it('a business that has sent nothing, where others have, has to be named', async () => {
  book('a');
  platform.now += daySeconds;
  const send = (business_id: string) => store({ ...callbackOf({ appointment_id: 'x' }), business_id });
  await send('');
  await send('b-2');
  await expect(pass()).rejects.toThrow(/business b-1, which has sent nothing; .*--business/);
  platform.refuses = { '/dr/v1/business': 403 };
  expect(await pass({ isDryRun: true })).toMatchObject({ business: 'b-2', missing: 1 });
  await send('b-3');
  await expect(pass()).rejects.toThrow(/--business/);
  expect(await pass({ business })).toMatchObject({ missing: 1, stored: 1 });
  platform.refuses = {};
  expect(await pass()).toMatchObject({ agrees: 1 });
  await expect(pass({ business: 'b-2' })).rejects.toThrow('of the business b-1, not of b-2');
});

/** What happens at the platform, and when its callback arrives: at once, later, or never. */
const change = fc.record({
  of: fc.nat(3),
  status: fc.constantFrom('BK', 'CK', 'OG', 'CM', 'CN'),
  moves: fc.boolean(),
  says: fc.subarray(['custom_attributes', 'patient_id', 'start_time', 'modified_at']),
  arrives: fc.constantFrom('now', 'later', 'never'),
  /** Since what was before, in seconds. */
  after: fc.constantFrom(1, 60, 700, 7_200),
});
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ change }) },
  // What happens when the list is read, and is on its way.
  {
    weight: 3,
    arbitrary: fc.record({
      before: fc.option(change),
      meanwhile: fc.option(change),
      fails: fc.integer({ max: 4, min: 0 }),
    }),
  },
  fc.constantFrom('merge' as const, 'arrival' as const),
);
interface Said {
  event_time: number;
  data: Row;
}

it('whatever passes, changes and callbacks meet, no read overwrites a callback, and later ones win', async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
    await clear();
    Object.assign(platform, { now: noon, listed: [], refuses: {}, onPage: () => {} });
    const arrived: Said[] = [];
    const later: Said[] = [];
    const arrive = async (one: Said) => {
      arrived.push(one);
      await store({ ...callbackOf({ appointment_id: '' }), ...one });
    };
    let n = 0;
    const happen = async (drawn: typeof change extends fc.Arbitrary<infer C> ? C : never) => {
      const { of, status, moves, says, arrives, after } = drawn;
      n += 1;
      platform.now += after;
      const { now } = platform;
      const found = platform.listed.find(({ appointment_id: id }) => id === `a-${of}`);
      const one = found ?? book(`a-${of}`, { created_at: now, start_time: noon });
      Object.assign(one, { status, ...(moves && { start_time: noon + n * 900 }) });
      const { appointment_id, created_at } = one;
      const rest: Row = { ...one, custom_attributes: { n }, modified_at: now - 5 };
      const data: Row = { appointment_id, status, created_at: Number(created_at) * 1000 + 7 };
      for (const name of says) data[name] = rest[name];
      if (arrives === 'now') await arrive({ event_time: now, data });
      if (arrives === 'later') later.push({ event_time: now, data });
    };
    /** The rows are what callbacks and stored reads say in the order of their times, where a read comes first. */
    const expectRows = async () => {
      await mergeAll(core);
      const stored = `select envelope from receiver.inbox where event = 'appointment.reconciled'`;
      const reads = (await database.rows(stored)).map(({ envelope }) => envelope as Said);
      const said = new Map<unknown, Row>();
      for (const { data } of [...reads, ...arrived].sort((a, b) => a.event_time - b.event_time))
        said.set(data.appointment_id, { ...said.get(data.appointment_id), ...data });
      const found = await rows(
        'appointment_id, status, patient_id, custom_attributes, start_time, created_at',
      );
      expect(found).toHaveLength(said.size);
      for (const row of found) {
        const { patient_id = null, custom_attributes = null, ...one } = said.get(row.appointment_id)!;
        const timeOf = (at: unknown) => at && new Date(Number(at) > 1e11 ? Number(at) : Number(at) * 1000);
        const [start_time, created_at] = [timeOf(one.start_time ?? null), timeOf(one.created_at)];
        const { status } = one;
        expect(row).toMatchObject({ status, patient_id, custom_attributes, start_time, created_at });
      }
    };
    for (const one of steps) {
      if (one === 'merge') await expectRows();
      else if (one === 'arrival') for (const first of later.splice(0, 1)) await arrive(first);
      else if ('change' in one) await happen(one.change);
      else {
        const fails = one.fails === 0;
        const changes = [one.before, one.meanwhile];
        const next = async () => {
          const drawn = changes.shift();
          if (drawn) await happen(drawn);
        };
        platform.onPage = () => next().then(() => next);
        platform.refuses = fails ? { '/dr/v1/appointment': 403 } : {};
        const status = await pass().then(
          () => undefined,
          (error) => error.status,
        );
        expect(status).toBe(fails ? 403 : undefined);
      }
    }
    Object.assign(platform, { onPage: () => {}, refuses: {}, now: platform.now + daySeconds });
    for (const one of later) await arrive(one);
    await expectRows();
    // In the end nothing is on its way any more: one pass is enough, and the next stores nothing.
    await pass();
    await expectRows();
    const stored = await database.count('receiver.inbox');
    expect(await pass()).toMatchObject({ agrees: platform.listed.length, stored: 0 });
    expect(await database.count('receiver.inbox')).toBe(stored);
    const listed = platform.listed.map(({ appointment_id, status }) => `${appointment_id} ${status}`);
    expect(await lines('status')).toEqual(listed.sort());
  });
  await fc.assert(property, { numRuns: 12 });
});
