import fc from 'fast-check';
import { applyDeliveries } from '../../src/apply/apply.ts';
import { replayDeliveries } from '../../src/apply/replay.ts';
import { createLog } from '../../src/common/log.ts';
import { amount, text, textId, time } from '../../src/families/field.ts';
import { defineFamily, type Family, families, other } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { createIntake } from '../../src/intake/intake.ts';
import { createParser } from '../../src/intake/parse-callback.ts';
import { databaseCircuit } from '../../src/intake/probe-inbox.ts';
import { replayQuarantine } from '../../src/intake/replay-quarantine.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { countRows } from '../../src/privacy/export.ts';
import { runRetention } from '../../src/privacy/retention/retention.ts';
import { adminToken, signInTo } from '../console/visitor.ts';
import { paths, samples } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';
import { clear, erasureTables } from '../support/deliveries.ts';
import { readPatient } from '../support/held.ts';
import { post, testConfig, useService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** The family of a later version. */
const labReport = defineFamily({
  name: 'lab_report',
  events: ['lab.report.ordered', 'lab.report.ready', 'lab.report.withdrawn'],
  deletedBy: 'lab.report.withdrawn',
  path: { variable: 'LAB_REPORTS_PATH', default: ['/lab'] },
  table: 'lab_reports',
  identifiedBy: 'report_id',
  orderedBy: 'modified_at',
  fields: { report_id: textId, patient_id: text, price: amount, modified_at: time },
});
const later = [...families, labReport] as readonly [Family, ...Family[]];

const database = useDatabase();
beforeAll(async () => {
  await database.pool.query(`create table lab_reports (
    business_id text, report_id text, patient_id text, price numeric, modified_at timestamptz, client_id text,
    last_event text, event_time timestamptz, deleted_at timestamptz, extra jsonb, delivery_id uuid, carried jsonb,
    primary key (business_id, report_id))`);
});
beforeEach(() => reset());

const reset = () => clear(database, 'lab_reports', 'schema_drift', ...erasureTables);

const patient = '161467756044204';
const base = 1_700_000_000;

const labCallback = ({ data, ...envelope }: { event?: string; event_time?: number; data?: object } = {}) => ({
  event: 'lab.report.ready',
  event_time: base,
  client_id: 'c',
  business_id: 'b',
  ...envelope,
  data: { report_id: 'lr-1', patient_id: patient, price: 12.5, modified_at: base, note: 'fasting', ...data },
});

/** Stores and applies callbacks as a version with these families does. */
async function receive(list: readonly Family[], callbacks: object[]): Promise<string[]> {
  if (callbacks.length === 0) return [];
  const parse = createParser(list);
  const deliveries = callbacks.map((callback) => {
    const body = Buffer.from(JSON.stringify(callback));
    const { id, family } = parse(body, other);
    return { id, family: family.name, body };
  });
  await insertDeliveries(database.pool, deliveries);
  const ids = deliveries.map(({ id }) => id);
  await applyDeliveries(database.db, list, ids);
  return ids;
}

const replay = (dryRun = false) => replayDeliveries(database.db, later, { family: 'other' }, { dryRun });

/** Everything that was made of the callbacks, without the times of this run. */
const contents = () =>
  Promise.all(
    ['deliveries', 'other_events', 'lab_reports'].map(async (table) => {
      const rows = await database.rows(`
        select to_jsonb(t) - '{received_at,applied_at,last_received_at,delivery_count}'::text[] as row
        from ${table} t order by to_jsonb(t)->>'id', to_jsonb(t)->>'delivery_id'`);
      return rows.map(({ row }) => row);
    }),
  );

const count = async (table: string) => (await database.rows(`select from ${table}`)).length;

/** Some fit the later family, some do not, some remain unknown. */
const callbacks = fc.array(
  fc
    .record({
      event: fc.constantFrom('lab.report.ordered', 'lab.report.ready', 'lab.report.withdrawn', 'lab.closed'),
      event_time: fc.integer({ min: base, max: base + 2 }),
      report_id: fc.constantFrom('lr-1', 'lr-2', 'lr-3', '', 5, null),
      price: fc.constantFrom(1, 2.5, null, 'free'),
      modified_at: fc.constantFrom(base, base + 1, null, '2026-06-30T07:25:18Z', 'soon'),
    })
    .map(({ event, event_time, ...data }) => labCallback({ event, event_time, data })),
  { minLength: 1, maxLength: 16 },
);

const fits = (callback: object) => {
  try {
    return createParser(later)(Buffer.from(JSON.stringify(callback))).family === labReport;
  } catch {
    return false;
  }
};

describe('an event that no family lists', () => {
  const { start: startService } = useService({ on: database });
  const start = (list?: typeof later) => startService({ adminToken, ...(list && { families: list }) });

  it('is acknowledged at EVENTS_PATH, kept with its data, counted, and in the console; a later version gives it its row', async () => {
    const first = await start();
    const { url } = first;
    const sent = { ...labCallback(), event: undefined, event_type: 'lab.report.ready' };
    const response = await post(url + paths.other, sent);
    const { id, status } = (await response.json()) as { id: string; status: string };
    expect([response.status, status]).toEqual([200, 'accepted']);
    await until(async () => (await database.rows(`select from deliveries where status = 'applied'`)).length);
    expect(await database.rows('select event, family, status, envelope from deliveries')).toEqual([
      {
        event: 'lab.report.ready',
        family: 'other',
        status: 'applied',
        envelope: JSON.parse(JSON.stringify(sent)),
      },
    ]);
    expect(
      await database.rows('select last_event, business_id, extra, delivery_id from other_events'),
    ).toEqual([{ last_event: 'lab.report.ready', business_id: 'b', extra: sent.data, delivery_id: id }]);
    expect(await database.rows('select event, data, delivery_id from reporting.other_events')).toEqual([
      { event: 'lab.report.ready', data: sent.data, delivery_id: id },
    ]);
    const drift = () =>
      database.rows(
        `select event, field, kind, count::int from reporting.schema_drift where field = '/event'`,
      );
    await until(async () => (await drift()).length);
    expect(await drift()).toEqual([
      { event: 'lab.report.ready', field: '/event', kind: 'unknown', count: 1 },
    ]);

    const visitor = await signInTo(url);
    expect(await visitor.read('/deliveries?family=other')).toContain('>lab.report.ready</td>');
    expect(await visitor.read('/deliveries?family=receipt')).not.toContain('>lab.report.ready</td>');
    const page = await visitor.read(`/deliveries/${id}`);
    expect(page).toContain('lab.report.ready');
    expect(page).not.toContain(patient);
    expect(page).not.toContain('fasting');

    expect(await replay()).toMatchObject({ applied: 1, changed: 1, failed: 0 });
    await first.stop();
    const { url: laterUrl } = await start(later);
    for (const path of [paths.other, '/lab']) {
      expect(await (await post(laterUrl + path, sent)).json()).toEqual({ status: 'duplicate', id });
    }
    const ready = await post(`${laterUrl}/lab`, labCallback({ event_time: base + 1, data: { price: 9 } }));
    expect(await ready.json()).toMatchObject({ status: 'accepted' });
    await until(async () => (await database.rows('select from lab_reports where price = 9')).length);
    expect(await count('other_events')).toBe(0);
  });

  it('is refused at the path of a family, and kept in the quarantine until a later version replays it', async () => {
    const { url } = await start();
    const response = await post(url + paths.receipt, labCallback());
    expect([response.status, await response.json()]).toMatchObject([
      422,
      { errors: [{ path: '/event', message: expect.stringContaining('this path takes receipt.created') }] },
    ]);
    expect([await count('deliveries'), await count('quarantine')]).toEqual([0, 1]);

    const log = createLog('silent');
    const circuit = databaseCircuit(database.pool, { log });
    const config = testConfig({}, later);
    const intake = createIntake({ config, families: later, pool: database.pool, circuit, log });
    const outcome = await replayQuarantine(database.db, {}, intake, { dryRun: false });
    await intake.close();
    circuit.stop();
    expect(outcome).toMatchObject({ accepted: 1, rejected: 0 });
    expect(await database.rows('select family, event from deliveries')).toEqual([
      { family: 'lab_report', event: 'lab.report.ready' },
    ]);
  });

  it('is not the row of anything until a family lists it: a replay finds nothing', async () => {
    await receive(families, [labCallback()]);
    const before = await contents();
    expect(await replayDeliveries(database.db, families, { family: 'other' }, { dryRun: false })).toEqual({
      applied: 0,
      changed: 0,
      failed: 0,
      errors: [],
    });
    expect(await contents()).toEqual(before);
  });
});

describe('a replay of other events, once a family lists them', () => {
  it('makes what the family would have made at once, whatever came before it, between and after', async () => {
    const split = callbacks.chain((all) =>
      fc.record({ all: fc.constant(all), at: fc.nat(all.length), twice: fc.nat(all.length) }),
    );
    await fc.assert(
      fc.asyncProperty(split, async ({ all, at, twice }) => {
        await reset();
        const expectedRows = all.filter(fits);
        await receive(later, expectedRows);
        const [, , rows] = await contents();

        await reset();
        await receive(families, all.slice(0, at));
        const before = await contents();
        const dry = await replay(true);
        expect(await contents()).toEqual(before);
        const known = new Set(await receiveIds(all.slice(0, at).filter(isListed)));
        const unfit = new Set(
          await receiveIds(all.slice(0, at).filter((one) => isListed(one) && !fits(one))),
        );
        const outcome = await replay();
        expect({ ...dry, changed: 0 }).toEqual({ ...outcome, changed: 0 });
        expect([outcome.applied, outcome.failed]).toEqual([known.size - unfit.size, unfit.size]);
        // Those of the later version, and older ones again.
        await receive(later, [...all.slice(at).filter(fits), ...all.slice(0, twice).filter(fits)]);
        const [deliveries, others, reports] = await contents();
        expect(reports).toEqual(rows);
        const again = await Promise.all([replay(), replay()]);
        expect(again.map(({ applied, changed }) => [applied, changed])).toEqual([
          [0, 0],
          [0, 0],
        ]);
        expect(await contents()).toEqual([deliveries, others, reports]);
        expect(await database.rows(`select from deliveries where status <> 'applied'`)).toEqual([]);
        // What does not fit, or is listed by no family, is still there.
        const stays = new Set(await receiveIds(all.slice(0, at).filter((one) => !fits(one))));
        expect(new Set(others!.map((row) => (row as { delivery_id: string }).delivery_id))).toEqual(stays);
      }),
      { numRuns: 6 },
    );
  });

  /** Listed by the later family, whether it fits or not. */
  const isListed = ({ event }: { event: string }) => labReport.events.includes(event as never);

  const receiveIds = async (some: object[]) => {
    const parse = createParser(families);
    return some.map((one) => parse(Buffer.from(JSON.stringify(one)), other).id);
  };

  it('reports those that do not fit the family by their faults, without a value', async () => {
    const ids = await receive(families, [
      labCallback(),
      labCallback({ data: { report_id: 5 } }),
      labCallback({ data: { report_id: 6, price: 'SECRET' } }),
      labCallback({ data: { report_id: undefined } }),
    ]);
    const { applied, failed, errors } = await replay();
    expect([applied, failed]).toEqual([1, 3]);
    expect(JSON.stringify(errors)).not.toContain('SECRET');
    expect(errors.map(({ message }) => message).toSorted()).toEqual([
      '/data/report_id expected text, got a whole number',
      '/data/report_id expected text, got a whole number; /data/price expected a number, got text',
      '/data/report_id is required',
    ]);
    const rest = await database.rows('select delivery_id from other_events order by 1');
    expect(rest.map(({ delivery_id }) => delivery_id)).toEqual(ids.slice(1).toSorted());
  });

  it('leaves one whose row the database refuses where it was, and moves the others', async () => {
    await database.pool.query('alter table lab_reports add constraint cheap check (price < 100)');
    try {
      const [dear] = await receive(families, [
        labCallback({ data: { report_id: 'dear', price: 500 } }),
        ...['lr-1', 'lr-2'].map((report_id) => labCallback({ data: { report_id } })),
      ]);
      const { applied, failed, errors } = await replay();
      expect([applied, failed, errors[0]!.message]).toEqual([2, 1, expect.stringContaining('cheap')]);
      expect(await database.rows('select delivery_id from other_events')).toEqual([{ delivery_id: dear }]);
      expect(
        await database.rows(`select id from deliveries where family = 'other' and status = 'applied'`),
      ).toEqual([{ id: dear }]);
    } finally {
      await database.pool.query('truncate lab_reports; alter table lab_reports drop constraint cheap');
    }
  });

  it('of thousands gives each its row, once, also when two run at once', async () => {
    const many = Array.from({ length: 1_200 }, (_, index) =>
      labCallback({ event_time: base + (index % 7), data: { report_id: `lr-${index % 400}` } }),
    );
    await receive(families, many);
    await Promise.all([replay(), replay()]);
    expect([await count('other_events'), await count('lab_reports')]).toEqual([0, 400]);
    expect(await count(`deliveries where family = 'lab_report'`)).toBe(await count('deliveries'));
  });
});

describe('a patient who is named in unknown events only', () => {
  const erase = () =>
    erasePatient(database.db, families, { id: patient }, { actor: { id: 'tester' }, keepMs: 1e9 });
  const mine = ['patient_oid', 'patientid', 'patient_id', 'pid'].map((name, index) =>
    labCallback({
      event_time: base + index,
      data: { report_id: `r-${index}`, patient_id: undefined, [name]: patient },
    }),
  );
  const ofAnother = labCallback({ data: { patient_id: '161467756044205' } });

  it('is exported with them', async () => {
    await receive(families, [...mine, ofAnother]);
    const { counts, data } = await readPatient(database, families, { id: patient });
    expect([data.deliveries!.length, data.other_events!.length, countRows(counts)]).toEqual([4, 4, 8]);
    expect(JSON.stringify(data)).not.toContain('161467756044205');
  });

  it('is erased with them, and neither a resend nor a replay brings anything back', async () => {
    await receive(families, [...mine, ofAnother]);
    const { counts } = await erase();
    expect(counts).toMatchObject({ deliveries: 4, other_events: 4, withheld: 4 });
    await receive(families, mine);
    await receive(later, mine);
    expect(await replay()).toMatchObject({ applied: 1, changed: 1 });
    expect(await database.rows('select patient_id from lab_reports')).toEqual([
      { patient_id: '161467756044205' },
    ]);
    expect([await count('deliveries'), await count('other_events')]).toEqual([1, 0]);
  });

  it('with an event_time that says nothing it is judged by its timestamp, also by a replay', async () => {
    await receive(later, [labCallback()]);
    await erasePatient(database.db, later, { id: patient }, { actor: { id: 'tester' }, keepMs: 1e9 });
    const timestamp = Math.floor(Date.now() / 1000) + 60;
    const callback = labCallback({ data: { report_id: 'lr-9' } });
    await receive(families, [{ ...callback, event_time: 0, timestamp } as object]);
    const [kept] = await database.rows("select id from inbox where family = 'other'");
    expect(kept ? await replay() : 'kept apart').toMatchObject({ applied: 1, changed: 1 });
  });

  it('is erased after a replay, too', async () => {
    await receive(families, [...mine.slice(2, 3), ofAnother]);
    await replay();
    await erasePatient(database.db, later, { id: patient }, { actor: { id: 'tester' }, keepMs: 0 });
    await receive(later, mine);
    expect(await database.rows('select patient_id from lab_reports')).toEqual([
      { patient_id: '161467756044205' },
    ]);
  });

  it('gets no row back by a replay that tells what a callback without a name is about', async () => {
    const appointment = samples.appointment({ data: { patient_id: patient } });
    const { appointment_id } = appointment.data;
    const moved = { ...appointment, event: 'appointment.moved', data: { appointment_id, action: 'moved' } };
    const ofAnotherOne = { ...moved, data: { appointment_id: 'another', action: 'moved' } };
    await receive(families, [appointment, moved, ofAnotherOne]);
    await erase();
    const knowing = families.map((family: Family) =>
      family.name === 'appointment' ? { ...family, events: [...family.events, 'appointment.moved'] } : family,
    );
    const run = () => replayDeliveries(database.db, knowing, { family: 'other' }, { dryRun: false });
    for (const applied of [1, 0]) {
      expect(await run()).toMatchObject({
        applied,
        changed: applied,
        failed: 1,
        errors: [{ message: 'it is about something that was erased' }],
      });
    }
    expect(await database.rows('select appointment_id from appointments')).toEqual([
      { appointment_id: 'another' },
    ]);
  });

  it('is forgotten by retention', async () => {
    await receive(families, [...mine, ofAnother]);
    await runRetention(database.db, families, { other: 1e8 }, { actor: { id: 'test' } });
    expect([await count('deliveries'), await count('other_events')]).toEqual([0, 0]);
  });
});
