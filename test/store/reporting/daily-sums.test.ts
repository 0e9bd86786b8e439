import fc from 'fast-check';
import { sql } from 'kysely';
import { applyDeliveries } from '../../../src/apply/apply.ts';
import { createLog } from '../../../src/common/log.ts';
import { appointment } from '../../../src/families/appointment.ts';
import { families } from '../../../src/families/index.ts';
import { identify } from '../../../src/intake/identity.ts';
import { insertDeliveries } from '../../../src/intake/insert-deliveries.ts';
import { erasePatient } from '../../../src/privacy/erasure/erase.ts';
import { holdPatient, releasePatient } from '../../../src/privacy/hold.ts';
import { runRetention } from '../../../src/privacy/retention/retention.ts';
import { openDatabase } from '../../../src/store/database.ts';
import { createLeases } from '../../../src/store/lease.ts';
import {
  deleteOutdatedSums,
  kindsOfSums,
  outdateSums,
  updateSums,
} from '../../../src/store/reporting/daily-sums.ts';
import { applyReportTimezone } from '../../../src/store/reporting/settings.ts';
import { findWrongSums, sampleWrongSums } from '../../../src/store/reporting/wrong-sums.ts';
import { withPlanForAnySize } from '../../../src/store/transactions.ts';
import { createSumsUpdate } from '../../../src/worker/sums.ts';
import {
  appointmentCallback,
  consentFormCallback,
  receiptCallback,
  reviewRequestCallback,
  samples,
} from '../../support/callbacks.ts';
import { useDatabase } from '../../support/database.ts';
import { apply, clear, erasureTables, insertCallbacks, seconds } from '../../support/deliveries.ts';
import { readDifferences } from '../../support/sums-over-rows.ts';

const database = useDatabase();
beforeEach(async () => {
  await clear(database, ...erasureTables, 'wrong_sums');
});

/** Makes every sum again that is outdated. */
async function update() {
  for (const sums of kindsOfSums) while ((await updateSums(database.db, sums)).hasMore);
}

let differences: Record<string, string>;
beforeAll(async () => {
  differences = await readDifferences(database.db);
});

const noDifference = async (of = /./) => {
  for (const [sums, query] of Object.entries(differences)) {
    if (of.test(sums)) expect({ sums, rows: await database.rows(query) }).toEqual({ sums, rows: [] });
  }
};

const actor = { id: 'tester' };
const hourS = 3_600;
const noon = seconds('2024-03-01T06:30:00Z');
const times = fc.integer({ min: 0, max: 60 }).map((hours) => noon + hours * hourS);
const business_id = fc.constantFrom('b1', 'b2');
const clinic_id = fc.constantFrom('c1', 'c2', null);
const doctor = fc.constantFrom('d1', 'd2', null);
const patient = fc.constantFrom('p1', 'p2');
const amount = fc.constantFrom(0, 0.1, 10.05, 1000, null);
const common = { event_time: times, business_id };

const appointmentCallbacks = (...events: string[]) =>
  fc
    .record({
      ...common,
      event: fc.constantFrom(...events),
      data: fc.record({
        appointment_id: fc.constantFrom('a1', 'a2', 'a3'),
        status: fc.constantFrom('BK', 'OG', 'CM', 'CMNP', 'CN', 'NS', 'RES', 'odd', null),
        created_at: fc.option(times),
        modified_at: fc.option(times),
        clinic_id,
        doctor_id: doctor,
        patient_id: patient,
      }),
    })
    .map((one) => appointmentCallback(one as never));

const callback = fc.oneof(
  fc
    .record({
      ...common,
      event: fc.constantFrom('receipt.created', 'receipt.updated', 'receipt.deleted'),
      data: fc.record({
        receipt_id: fc.integer({ min: 1, max: 4 }),
        created_at: fc.option(times),
        clinic_id,
        doctor_oid: doctor,
        patient_oid: patient,
        receipt_amount: amount,
        net_amount: amount,
        amount_due: amount,
        amount_paid: amount,
        sku_discount_amount: amount,
      }),
    })
    .map((one) => receiptCallback(one as never)),
  fc
    .record({
      ...common,
      data: fc.record({ id: fc.constantFrom('m1', 'm2'), docid: doctor, patientid: patient }),
    })
    .map((one) => consentFormCallback(one as never)),
  fc
    .record({ ...common, data: fc.record({ doctor_id: doctor, clinic_id, patient_id: patient }) })
    .map((one) => reviewRequestCallback(one as never)),
  fc
    .record({ ...common, data: fc.record({ doctor_id: doctor, patient_id: patient, net_amount: amount }) })
    .map((one) => samples.payment_request(one as never)),
  appointmentCallbacks('appointment.created', 'appointment.updated', 'appointment.statuschange'),
);

/** Stores deliveries of the reconciliation as it does: their records come first. */
async function insertReconciled(callbacks: ReturnType<typeof appointmentCallback>[]) {
  const deliveries = callbacks.map((one) => ({
    id: identify(one, appointment),
    family: appointment.name,
    body: Buffer.from(JSON.stringify(one)),
  }));
  const ids = deliveries.map(({ id }) => id);
  await database.rows(
    `insert into reconciled_deliveries (id, business_id, family, day)
     select id, 'b1', 'appointment', '2024-03-01' from unnest($1::uuid[]) as id on conflict do nothing`,
    [ids],
  );
  await insertDeliveries(database.pool, deliveries);
  return ids;
}

type Step = () => Promise<unknown>;

const steps: fc.Arbitrary<[string, Step]> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .array(callback, { minLength: 1, maxLength: 6 })
      .map((callbacks): [string, Step] => [
        `apply ${JSON.stringify(callbacks.map(({ event, event_time, business_id, data }) => ({ event, event_time, business_id, data })))}`,
        () => apply(database, callbacks),
      ]),
  },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom(...kindsOfSums)
      .map((sums): [string, Step] => [`update ${sums}`, () => updateSums(database.db, sums)]),
  },
  {
    weight: 2,
    arbitrary: fc.array(callback, { minLength: 1, maxLength: 3 }).map((callbacks): [string, Step] => [
      `receive ${JSON.stringify(callbacks.map(({ event, event_time, business_id, data }) => ({ event, event_time, business_id, data })))}`,
      async () => {
        await insertCallbacks(database, callbacks);
        await insertCallbacks(database, callbacks);
      },
    ]),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.array(appointmentCallbacks('appointment.reconciled'), { minLength: 1, maxLength: 3 }),
        fc.boolean(),
      )
      .map(([callbacks, isApplied]): [string, Step] => [
        `reconcile ${isApplied} ${JSON.stringify(callbacks.map(({ event_time, business_id, data }) => ({ event_time, business_id, data })))}`,
        async () => {
          const ids = await insertReconciled(callbacks);
          if (isApplied) await applyDeliveries(database.db, families, ids);
        },
      ]),
  },
  {
    weight: 1,
    arbitrary: fc.constant<[string, Step]>([
      'resend',
      async () => {
        await database.rows(`
          insert into resends select id, 1, now() from inbox
          on conflict (id) do update set count = resends.count + 1`);
      },
    ]),
  },
  {
    weight: 1,
    arbitrary: fc.constant<[string, Step]>([
      'replay',
      async () => {
        const applied = await database.rows('select id from applied_deliveries order by id');
        const ids = applied.map(({ id }) => String(id));
        await applyDeliveries(database.db, families, ids, { status: 'applied' });
      },
    ]),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(patient, fc.boolean()).map(([id, keepsTotals]): [string, Step] => [
      `erase ${id} ${keepsTotals}`,
      async () => {
        await erasePatient(database.db, families, { id }, { actor, keepMs: 1, keepsTotals });
        // So that the patient's later callbacks are stored.
        await database.rows('delete from erased');
      },
    ]),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(patient, fc.boolean())
      .map(([id, isHeld]): [string, Step] => [
        `hold ${id} ${isHeld}`,
        () => (isHeld ? holdPatient : releasePatient)(database.db, { id }, actor),
      ]),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('receipt', 'appointment', 'consent_form')
      .map((family): [string, Step] => [
        `retention ${family}`,
        () => runRetention(database.db, families, { [family]: 1 }, { actor }),
      ]),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(...kindsOfSums)
      .map((sums): [string, Step] => [`outdate ${sums}`, () => outdateSums(database.db, sums)]),
  },
);

it('every daily view has the sums over the rows at each moment of any history', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 2, maxLength: 14 }), async (history) => {
      await clear(database, ...erasureTables);
      for (const [, run] of history) {
        await run();
        await noDifference(/^\w+_(daily|monthly)$/);
      }
      await noDifference();
      await update();
      await noDifference();
      for (const sums of kindsOfSums) expect(await sampleWrongSums(database.db, sums, 100)).toEqual([]);
    }),
    { numRuns: 2 },
  );
});

it('sums that are up to date are read, and not the rows', async () => {
  await apply(database, [receiptCallback({ business_id: 'b1', data: { net_amount: 5 } })]);
  await update();
  await database.rows('update kept_activities set net_amount = 7');
  expect(await database.rows('select net_amount from reporting.receipts_daily')).toEqual([
    { net_amount: '7' },
  ]);
  expect(await findWrongSums(database.db, 'activities', 'b1')).toEqual([
    { business_id: 'b1', day: '2023-11-15' },
  ]);
  await outdateSums(database.db, 'activities', 'b1');
  expect(await database.rows('select net_amount from reporting.receipts_daily')).toEqual([
    { net_amount: '5' },
  ]);
});

it('a wrong sum of a month whose days are right is found', async () => {
  await apply(database, [receiptCallback({ business_id: 'b1', data: { net_amount: 5 } })]);
  await update();
  await database.rows('update kept_doctor_months set net_amount = 7');
  expect(await findWrongSums(database.db, 'activities', 'b1')).toEqual([
    { business_id: 'b1', day: '2023-11-01' },
  ]);
});

it('after a change of the time zone the sums are those of the new days', async () => {
  await apply(database, [receiptCallback({ data: { created_at: seconds('2024-03-01T20:00:00Z') } })]);
  await update();
  const days = () => database.rows('select day::text from reporting.receipts_daily');
  expect(await days()).toEqual([{ day: '2024-03-02' }]);
  await applyReportTimezone(database.db, 'UTC');
  expect(await days()).toEqual([{ day: '2024-03-01' }]);
  await update();
  await noDifference();
  await applyReportTimezone(database.db, 'Asia/Kolkata');
  expect(await days()).toEqual([{ day: '2024-03-02' }]);
});

it('a role that may write to a table only makes its sums outdated, too', async () => {
  await apply(database, [receiptCallback({ data: { net_amount: 5 } })]);
  await update();
  const session = await database.pool.connect();
  try {
    await session.query(`begin; create role editor; grant usage on schema public, reporting to editor;
      grant select, update on receipts to editor; set local role editor;
      update public.receipts set net_amount = 6; reset role`);
    const { rows } = await session.query('select net_amount from reporting.receipts_daily');
    expect(rows).toEqual([{ net_amount: '6' }]);
  } finally {
    await session.query('rollback');
    session.release();
  }
});

it('an update takes one connection: tasks of a worker that hold one and wait for another would block each other', async () => {
  await apply(database, [receiptCallback()]);
  const { db, close } = openDatabase(database.url, createLog('silent'), { connections: 1, name: 'one' });
  try {
    await createSumsUpdate(db, createLeases(db), new AbortController().signal)();
  } finally {
    await close();
  }
  expect(await database.rows('select 1 from outdated_days')).toEqual([]);
});

it('an erasure deletes the kept sums that contain what it erases', async () => {
  await apply(database, [
    receiptCallback({ business_id: 'b1', data: { patient_oid: 'p1' } }),
    receiptCallback({ business_id: 'b2', data: { patient_oid: 'p2' } }),
  ]);
  await update();
  await erasePatient(database.db, families, { id: 'p1' }, { actor, keepMs: 1, keepsTotals: false });
  expect(await database.rows('select business_id from kept_activities')).toEqual([{ business_id: 'b2' }]);
  await noDifference();
});

it('the totals of lists do not contain erased receipts, those of days do', async () => {
  await apply(database, [
    receiptCallback({ data: { receipt_id: 1, patient_oid: 'p1', net_amount: 5 } }),
    receiptCallback({ data: { receipt_id: 2, patient_oid: 'p1', net_amount: 7 }, event: 'receipt.deleted' }),
    receiptCallback({ data: { receipt_id: 3, patient_oid: 'p2', net_amount: 9 } }),
  ]);
  await erasePatient(database.db, families, { id: 'p1' }, { actor, keepMs: 1, keepsTotals: true });
  const daily =
    'select sum(net_amount) as net, sum(deleted_net_amount) as deleted from reporting.receipts_daily';
  expect(await database.rows(daily)).toEqual([{ net: '14', deleted: '7' }]);
  await noDifference();
  await update();
  await noDifference();
});

it('an erasure looks up the kept sums of outdated days in an index, however many are kept', async () => {
  await database.rows('truncate outdated_days, kept_activity_days');
  await database.rows(`
    insert into kept_activity_days
    select 'b' || n % 50, date '2020-01-01' + n / 50, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    from generate_series(0, 49999) n`);
  await database.rows(
    `insert into outdated_days select 'activities', 'b1', date '2020-01-01' + n from generate_series(0, 9) n`,
  );
  await database.rows('analyze kept_activity_days');
  // This session has counts of former transactions, too.
  const { before, after } = await withPlanForAnySize(database.db, async (tx) => {
    const read = async () => {
      const { rows } = await sql<{ scans: number; deleted: number }>`
        select seq_scan::int as scans, n_tup_del::int as deleted
        from pg_stat_xact_user_tables where relname = 'kept_activity_days'`.execute(tx);
      return rows[0]!;
    };
    const before = await read();
    await deleteOutdatedSums(tx);
    return { before, after: await read() };
  });
  expect(after).toEqual({ scans: before.scans, deleted: before.deleted + 10 });
});
