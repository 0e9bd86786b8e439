import pg from 'pg';
import { applyDeliveries } from '../../src/apply/apply.ts';
import { families } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { continueErasures, erasePatient } from '../../src/privacy/erasure/erase.ts';
import { listCertificates } from '../../src/privacy/erasure/erasure-list.ts';
import { isBeingErased } from '../../src/privacy/erasure/running.ts';
import { jsonOf, withPatient } from '../../src/privacy/export.ts';
import { deliveryOf, receiptCallback } from '../support/callbacks.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { erasureTables } from '../support/deliveries.ts';
import { spawnReceiver } from '../support/process.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
let holder: pg.Client;
beforeAll(async () => {
  database = await createDatabase();
  holder = new pg.Client({ connectionString: database.url });
  await holder.connect();
});
afterAll(async () => {
  await holder.end();
  await database.close();
});

const patient = { id: '361467756044204' };
let many = 0;
const settings = { keepMs: 365 * 86_400_000 };
const erase = () => erasePatient(database.db, families, patient, { ...settings, actor: { id: 'tester' } });
const count = async (from: string) => Number((await database.rows(`select count(*) from ${from}`))[0]!.count);

async function fill(deliveries: number): Promise<void> {
  many = deliveries;
  await database.rows(
    `truncate inbox, receipts, quarantine, running_erasures, erasing, ${erasureTables.join(', ')}`,
  );
  await database.rows(
    `with made as materialized (
       select (lpad(to_hex((1700000000 + n) * 1000::bigint), 12, '0') || substr(md5(n::text), 1, 20))::uuid as id, n,
              to_timestamp(1700000000 + n) as event_time,
              jsonb_build_object('event', 'receipt.created', 'event_time', 1700000000 + n, 'client_id', 'c',
                'business_id', 'big', 'data', jsonb_build_object('receipt_id', n, 'patient_oid', $1::text)) as envelope
       from generate_series(1, ${many}) n
     ), stored as (
       insert into inbox (id, event, family, client_id, business_id, event_time, envelope)
       select id, 'receipt.created', 'receipt', 'c', 'big', event_time, envelope from made
     ), applied as (
       insert into applied_deliveries (id, family, business_id, event_time, received_at, applied_at)
       select id, 'receipt', 'big', event_time, now(), now() from made
     )
     insert into receipts (business_id, receipt_id, patient_oid, client_id, last_event, event_time, extra, delivery_id,
                           received_at, applied_at)
     select 'big', n, $1, 'c', 'receipt.created', event_time, '{}', id, now(), now() from made`,
    [patient.id],
  );
  // An erasure before has analyzed them when they were empty.
  await database.rows('analyze inbox, applied_deliveries, receipts');
}
afterEach(() => holder.query('rollback'));

/** Stops an erasure where it needs this lock. */
const steps: [step: string, hold: string, isAtIt: string][] = [
  ['finds', 'lock table erasing in share mode', `relation = 'erasing'::regclass and not granted`],
  [
    'has deleted all, and not committed it',
    'lock table access_log in share mode',
    `relation = 'access_log'::regclass and not granted`,
  ],
];
const reach = (condition: string) => until(async () => (await count(`pg_locks where ${condition}`)) > 0);

/** The patient's deliveries and receipts, as others see them, and as the role of the reports does. */
async function visible(): Promise<number[]> {
  const reader = await database.pool.connect();
  try {
    await reader.query('begin; set local role reporting_reader');
    const { rows } = await reader.query(`
      select (select count(*)::int from reporting.deliveries where business_id = 'big') as deliveries,
             (select count(*)::int from reporting.receipts where business_id = 'big') as receipts`);
    await reader.query('rollback');
    return [rows[0].deliveries, rows[0].receipts, await count(`deliveries where business_id = 'big'`)];
  } finally {
    reader.release();
  }
}

it.each(steps)(
  'while an erasure %s, callbacks are acknowledged and applied at once, a resend is erased, and everybody sees the whole patient',
  async (_, hold, isAtIt) => {
    await fill(2_500);
    await holder.query(`begin; ${hold}`);
    // The entry about the beginning is in the log already.
    const erasing = hold.includes('access_log') ? beginThenErase(hold) : erase();
    await reach(isAtIt);
    const own = receiptCallback({ data: { patient_oid: 'other' } });
    // The limit of the inbox's own statements.
    const intake = new pg.Pool({
      connectionString: database.url,
      max: 1,
      options: '-c lock_timeout=500',
    });
    const store = (callback: object) => insertDeliveries(intake, [deliveryOf(callback as typeof own)]);
    expect(await store(own)).toEqual(['accepted']);
    const older = receiptCallback({
      event_time: 1_700_000_000,
      data: { patient_oid: patient.id, receipt_id: 5e6 },
    });
    expect(await store(older)).toEqual(['erased']);
    expect(await applyDeliveries(database.db, families, [deliveryOf(own).id])).toMatchObject({ applied: 1 });
    expect(await visible()).toEqual([many, many, many]);
    expect((await listCertificates(database.db)).map((one) => one.is_running)).toEqual([true]);
    expect(await isBeingErased(database.db, patient)).toBe(true);
    await intake.end();
    await holder.query('rollback');
    expect((await erasing).counts).toMatchObject({ deliveries: many, receipts: many, withheld: many });
    expect(await visible()).toEqual([0, 0, 0]);
    expect([await count('erasing'), await count('running_erasures')]).toEqual([0, 0]);
  },
);

/** The erasure begins before the lock is held. */
async function beginThenErase(hold: string) {
  await holder.query('rollback; begin; lock table erasing in share mode');
  const erasing = erase();
  await reach(steps[0]![2]);
  await holder.query(`rollback; begin; ${hold}`);
  return erasing;
}

it.each(steps)(
  'a killed erasure that %s is continued by any process, and nothing is left but what is withheld',
  async (_, hold, isAtIt) => {
    await fill(2_500);
    await holder.query('begin; lock table erasing in share mode');
    const doomed = spawnReceiver(['patient', 'erase', patient.id, '--yes'], { DATABASE_URL: database.url });
    await reach(steps[0]![2]);
    await holder.query(`rollback; begin; ${hold}`);
    await reach(isAtIt);
    await doomed.end('SIGKILL');
    await holder.query('rollback');
    expect(await visible()).toEqual([many, many, many]);
    const [certificate] = await continueErasures(database.db, families, settings);
    expect(certificate).toMatchObject({ counts: { deliveries: many, receipts: many, withheld: many } });
    expect(await visible()).toEqual([0, 0, 0]);
    for (const table of ['inbox', 'receipts', 'applied_deliveries', 'erasing', 'running_erasures'])
      expect([table, await count(table)]).toEqual([table, 0]);
    expect(await count('withheld.records')).toBe(many);
    expect(await count(`access_log where filter->>'erasure' = '${certificate!.id}'`)).toBe(1);
  },
);

it('two erasures of one patient, and a reader in a loop who sees all or nothing, end with everything erased once', async () => {
  await fill(20_000);
  const seen: number[][] = [];
  let isRunning = true;
  const reading = (async () => {
    while (isRunning) seen.push(await visible());
  })();
  const certificates = await Promise.all([erase(), erase()]);
  isRunning = false;
  await reading;
  // They may be one.
  expect(Math.max(...certificates.map(({ counts }) => counts.deliveries!))).toBe(many);
  expect((await listCertificates(database.db)).filter((one) => one.is_running)).toEqual([]);
  expect(await count('withheld.records')).toBe(many);
  for (const [deliveries, receipts] of seen)
    expect([
      [0, 0],
      [many, many],
    ]).toContainEqual([deliveries, receipts]);
});

it('an export is written in parts that do not grow with the number of deliveries', async () => {
  await fill(20_000);
  const parts = await withPatient(database.db, families, patient, async (held) => {
    expect(held.counts).toMatchObject({ deliveries: many, receipts: many });
    const sizes: number[] = [];
    for await (const part of jsonOf(held)) sizes.push(part.length);
    return sizes;
  });
  expect(parts.length).toBeGreaterThan(many / 500);
  expect(Math.max(...parts)).toBeLessThan(1_000_000);
  expect(await count('erasing')).toBe(0);
});
