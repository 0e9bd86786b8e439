import { applyDeliveries } from '../../src/apply/apply.ts';
import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { createIntake } from '../../src/intake/intake.ts';
import { databaseCircuit } from '../../src/intake/probe-inbox.ts';
import { type ReconcileOptions, reconcile } from '../../src/reconcile/reconcile.ts';
import { createLeases } from '../../src/store/lease.ts';
import { receiptCallback } from '../support/callbacks.ts';
import { apply, insertCallbacks } from '../support/deliveries.ts';
import { business, listedAppointments } from '../support/listed-appointments.ts';
import { testConfig } from '../support/service.ts';
import { useConsole } from './use-console.ts';

const { database, visitor } = useConsole();

const daySeconds = 86_400;
const now = Math.floor(Date.now() / 1000);
const simulated = listedAppointments(now);
/** An appointment of so many days ago. */
const book = (daysAgo: number) => {
  const at = now - daysAgo * daySeconds;
  return simulated.book(0, { start_time: at, created_at: at - daySeconds });
};
const dayOf = (daysAgo: number) =>
  new Date(Date.now() - daysAgo * daySeconds * 1000).toLocaleDateString('sv-SE', {
    timeZone: 'Asia/Kolkata',
  });

function pass(more: Partial<ReconcileOptions> = {}) {
  const { db, pool } = database;
  const log = createLog('silent');
  const circuit = databaseCircuit(pool, { log });
  const intake = createIntake({ config: testConfig({}), families, pool, circuit, log });
  const days = { from: dayOf(6), to: dayOf(0) };
  const options = { db, intake, platform: simulated.platform, business, ...days, pausesMs: [0, 0, 0] };
  return reconcile({ ...options, ...more });
}

async function applyPending() {
  const rows = await database.rows('select id from pending_deliveries');
  await applyDeliveries(
    database.db,
    families,
    rows.map(({ id }) => String(id)),
  );
}

const plain = (html: string) => html.replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ');
/** The line below the title of a report. */
async function lineOf(report: string) {
  const page = await visitor.read(`/reports/${report}`);
  const line = page
    .split('<p class="note">')
    .slice(1)
    .find((part) => part.includes('href="/console/completeness"'));
  return line && plain(line.split('</p>')[0]!);
}
const completeness = async () => plain((await visitor.read('/completeness')).split('<h1>')[1]!);

beforeAll(async () => {
  await apply(database, [receiptCallback({ business_id: business })]);
  await insertCallbacks(database, [book(1), book(2)]);
  await applyPending();
  book(3);
});

it('until something was compared, reports say so, and the page says how to', async () => {
  for (const report of ['appointments', 'receipts', 'clinics_daily'])
    expect(await lineOf(report)).toBe('Not compared with the platform: Completeness.');
  for (const report of ['deliveries', 'outages', 'quarantine']) expect(await lineOf(report)).toBeUndefined();
  const page = await completeness();
  expect(page).toContain('Nothing was compared with the platform yet');
  expect(page).toContain('Not known: no comparison was completed.');
  await pass({ dryRun: true });
  expect(await lineOf('appointments')).toMatch(/^Not compared/);
});

it('a pass that was interrupted, and one that runs, are told apart', async () => {
  simulated.platform.beforeAnswer = async (count) => {
    if (count > 0) throw new Error('stopped');
  };
  await expect(pass()).rejects.toThrow('stopped');
  expect(await completeness()).toContain('interrupted after');
  await createLeases(database.db).run('another lease', async () => {
    expect(await completeness()).not.toContain('runs for');
  });
  await createLeases(database.db).run('reconciliation', async () => {
    expect(await completeness()).toContain('runs for');
  });
  simulated.platform.beforeAnswer = async () => {};
});

it('after a pass a report says for which of its days, as of when, and what cannot be verified', async () => {
  await pass();
  expect(await lineOf('appointments')).toMatch(
    /^Appointments compared as of .*; 1 difference not applied yet\. Completeness$/,
  );
  expect(await completeness()).toMatch(/What is not filled waits or has failed.*1, 0 filled/s);
  await applyPending();
  expect(await lineOf('appointments')).toMatch(
    /^Appointments complete as of \S+ \S+ \d{4}, [\d:]+ for \S+ \S+ \d{4} to \S+ \S+ \d{4}, by the day on which they take place\. Completeness$/,
  );
  expect(await lineOf('appointment_payments')).toMatch(
    /^Appointments complete as of .*; receipts and payment requests cannot be verified\. Completeness$/,
  );
  expect(await lineOf('receipts')).toBe('Receipts cannot be verified. Completeness');
  await database.rows(
    `insert into inferred_days (business_id, family, day, missing) values ($1, 'receipt', $2, 2)`,
    [business, dayOf(2)],
  );
  expect(await lineOf('receipts')).toMatch(
    /^Receipts cannot be verified ?, 2 suspected missing ?\. Completeness$/,
  );
  const other = `appointments?from=${dayOf(40)}&to=${dayOf(30)}`;
  expect(await lineOf(other)).toBe(
    'Appointments of these days were not compared with the platform. Completeness',
  );
  expect(await lineOf(`appointments?from=${dayOf(3)}&to=${dayOf(3)}`)).toMatch(
    / for \S+ \S+ \d{4}, by the day/,
  );
});

it('days of former passes, and businesses that were not compared, are named', async () => {
  await database.rows(
    `update reconciled_days set complete_as_of = complete_as_of - interval '2 days' where day = $1`,
    [dayOf(6)],
  );
  expect(await lineOf('appointments')).toMatch(/, and for 1 day as of earlier\. Completeness$/);
  await apply(database, [receiptCallback({ business_id: 'another' })]);
  expect(await lineOf('appointments')).toMatch(/^Appointments of 1 of 2 businesses complete/);
  expect(await lineOf(`appointments?business=${business}`)).toMatch(/^Appointments complete/);
  expect(await lineOf('appointments?business=another')).toMatch(/were not compared/);
});

it('the page has each day with a gap, what is unknown to the platform, and what to do', async () => {
  simulated.listed.splice(
    simulated.listed.findIndex(({ start_time }) => start_time === now - daySeconds),
    1,
  );
  await pass();
  const page = await completeness();
  expect(page).toMatch(
    /What to do.*doctor compares the subscriptions.*unknown to the platform stay as they are/s,
  );
  expect(page).not.toContain('What is not filled');
  expect(page).toMatch(/completed.*1, 1 filled/s);
  await database.rows(`update reconciliations set ended_at = now() - interval '50 hours'`);
  expect(await completeness()).toContain('No comparison was completed for two days');
});
