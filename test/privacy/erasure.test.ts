import pg from 'pg';
import { applyDeliveries } from '../../src/apply/apply.ts';
import { createLog } from '../../src/common/log.ts';
import { families } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { createQuarantine } from '../../src/intake/quarantine.ts';
import { applyErasures } from '../../src/privacy/erasure/apply-erasures.ts';
import { continueErasures, erasePatient } from '../../src/privacy/erasure/erase.ts';
import { exportErasures, parseErasures } from '../../src/privacy/erasure/erasure-list.ts';
import { previewErasure } from '../../src/privacy/erasure/preview.ts';
import type { Patient } from '../../src/privacy/find-deliveries.ts';
import { holdPatient, isHeld, releasePatient } from '../../src/privacy/hold.ts';
import { openPool } from '../../src/store/pool.ts';
import { applyReportPaths } from '../../src/store/reporting/settings.ts';
import { planForAnySize } from '../../src/store/transaction-settings.ts';
import {
  consentFormCallback,
  deliveryOf,
  paths,
  receiptCallback,
  receiptData,
  registeredPaths,
  reviewRequestCallback,
} from '../support/callbacks.ts';
import { createCopy, createDatabase, useDatabase } from '../support/database.ts';
import { apply, clear, erasureTables, insertCallbacks } from '../support/deliveries.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
beforeAll(async () => {
  await applyReportPaths(database.db, registeredPaths);
});
beforeEach(async () => {
  await clear(database, ...erasureTables, 'patient_pseudonyms');
});

const actor = { id: 'tester' };
const day = 86_400_000;
const options = { actor, keepMs: 365 * day };
const id = receiptData.patient_oid;
const erase = (more = {}, patient: Patient = { id }) =>
  erasePatient(database.db, families, patient, { ...options, ...more });
const count = async (from: string) => Number((await database.rows(`select count(*) from ${from}`))[0]!.count);
const insert = (callback: object) =>
  insertDeliveries(database.pool, [deliveryOf(callback as ReturnType<typeof receiptCallback>)]);

describe('while an erasure runs', () => {
  let session: pg.Client;
  beforeEach(async () => {
    session = new pg.Client({ connectionString: database.url });
    await session.connect();
    await session.query('begin; lock table erased in exclusive mode');
  });
  afterEach(() => session.end());

  const waiting = () => count(`pg_locks where relation = 'erased'::regclass and not granted`);

  it('a callback that arrives waits for its end, and is not stored if it was erased', async () => {
    const callback = reviewRequestCallback({ event_time: 1_700_000_077 });
    const result = insert(callback);
    await until(async () => (await waiting()) === 1);
    await session.query(`
      insert into erasures (id, erased_by, counts) values ('00000000-0000-4000-8000-000000000000', 'a', '{}')`);
    await session.query(
      `insert into erased select patient_hash(salt, '', $1), now(), '00000000-0000-4000-8000-000000000000' from erasure_salt`,
      [id],
    );
    await session.query('commit');
    expect(await result).toEqual(['erased']);
    expect(await count('inbox')).toBe(0);
  });

  it('a prepared statement of the inbox waits, too', async () => {
    await session.query('rollback');
    const connection = new pg.Pool({ connectionString: database.url, max: 1 });
    const insertOn = (event_time: number) =>
      insertDeliveries(connection, [deliveryOf(receiptCallback({ event_time }))]);
    // PostgreSQL caches the plan after five.
    for (let time = 1; time <= 8; time += 1) await insertOn(1_700_000_000 + time);
    await session.query('begin; lock table erased in exclusive mode');
    const result = insertOn(1_700_000_099);
    await until(async () => (await waiting()) === 1);
    await session.query('commit');
    expect(await result).toEqual(['accepted']);
    await connection.end();
  });

  it('a worker with a prepared statement waits, and does not bring back the rows', async () => {
    await session.query('rollback');
    const connection = openPool(
      { connectionString: database.url, max: 1, settings: planForAnySize },
      () => {},
    );
    const applyOn = (ids: string[]) =>
      applyDeliveries(database.db, families, ids, { preparedOn: connection });
    await applyOn(await insertCallbacks(database, [consentFormCallback()]));
    const ids = await insertCallbacks(database, [receiptCallback()]);
    await session.query('begin; lock table erased in exclusive mode');
    const applied = applyOn(ids);
    await until(async () => (await waiting()) === 1);
    await session.query('delete from inbox; commit');
    expect(await applied).toMatchObject({ applied: 0 });
    expect(await count('receipts')).toBe(0);
    await connection.end();
  });

  it('it waits in turn for a statement in progress, and sees what that stored', async () => {
    await session.query('rollback');
    await session.query('begin');
    await session.query(`select from erased where false for share`);
    await session.query(`
      insert into inbox select gen_random_uuid(), 'receipt.created', 'receipt', 'c', 'b', now(),
        jsonb_build_object('event', 'receipt.created', 'data', jsonb_build_object('receipt_id', 1, 'patient_oid', $$${id}$$))`);
    const erased = erase();
    await until(async () => (await waiting()) === 1);
    await session.query('commit');
    expect((await erased).counts).toMatchObject({ deliveries: 1 });
    expect(await count('inbox')).toBe(0);
  });
});

it.each([
  ['receipt', (more: object) => receiptCallback(more), 'patient_oid', 'receipts'],
  ['consent form', (more: object) => consentFormCallback(more), 'patientid', 'consent_forms'],
])(
  'a %s that was corrected from one patient to another keeps the versions of the other',
  async (_, make, spelling, table) => {
    const version = (event_time: number, patient?: string) =>
      make({ event_time, data: { [spelling]: patient } });
    const others = [version(1_700_000_001, 'somebody-else'), version(1_700_000_002)];
    await apply(database, [...others, version(1_700_000_003, id)]);
    expect((await erase()).counts).toMatchObject({ deliveries: 1 });
    expect(await database.rows(`select delivery_id from ${table}`)).toEqual([
      { delivery_id: deliveryOf(others[1] as never).id },
    ]);
    // Nobody knows whose a later version without a patient is.
    expect(await insert(version(1_700_000_004))).toEqual(['accepted']);
    expect(await insert(version(1_700_000_005, 'somebody-else'))).toEqual(['accepted']);
    expect(await insert(version(1_700_000_006, id))).toEqual(['erased']);
  },
);

describe('bodies in the quarantine', () => {
  const keep = async (body: string, path = paths.receipt) => {
    const quarantine = createQuarantine({
      families,
      pool: database.pool,
      log: createLog('silent'),
      limits: { bytes: 1e6 },
    });
    const family = families.find(({ name }) => paths[name] === path);
    await quarantine.keep({ path, family, reason: 'invalid', errors: [], body: Buffer.from(body) });
    await quarantine.drained();
  };
  const about = [
    JSON.stringify({ ...receiptCallback(), event: 'receipt.unknown' }),
    JSON.stringify(receiptCallback({ data: { receipt_id: 'x' } })).slice(0, -3),
    JSON.stringify({ event_time: 1, data: { patient_id: Number(id) } }),
    `{"data":{"patientid":"${[...id].map((digit) => `\\u003${digit}`).join('')}"}}`,
    // Names nobody, and is about a receipt of the patient.
    JSON.stringify({ ...receiptCallback({ data: { patient_oid: undefined } }), event: 'receipt.paid' }),
  ];
  const notAbout = [
    JSON.stringify({ ...receiptCallback({ data: { patient_oid: '777' } }), event: 'receipt.unknown' }),
    `{"data":{"receipt_id":4711,"business_id":"b9"`,
    `{"data":{"amount":9${id}}}`,
    '\u0000\uD800 {',
    '{"event_time":1e300,"data":{"patient_oid":"\\u0000"},"business_id":"\\ud800"}',
  ];

  it('are erased where they name the patient, or are about a thing of the patient', async () => {
    await apply(database, [receiptCallback()]);
    for (const body of [...about, ...notAbout]) await keep(body);
    expect((await erase()).counts).toMatchObject({ quarantine: about.length });
    const left = (await database.rows('select body from quarantine')).map(({ body }) => String(body));
    expect(left.toSorted()).toEqual(notAbout.map((body) => String(Buffer.from(body))).toSorted());
    expect(await count(`withheld.records where source = 'quarantine'`)).toBe(about.length);
  });

  it('are not stored again after an erasure, and those of what came later are', async () => {
    await apply(database, [receiptCallback()]);
    await erase();
    for (const body of about) await keep(body);
    expect(await count('quarantine')).toBe(0);
    const later = { ...receiptCallback({ data: { receipt_id: 99 } }), event_time: 2_000_000_000 };
    for (const body of [...notAbout, JSON.stringify(later)]) await keep(body);
    expect(await count('quarantine')).toBe(notAbout.length + 1);
  });
});

describe('what is withheld', () => {
  it('is due a time after its receipt, and nothing is withheld where that is 0', async () => {
    await apply(database, [receiptCallback(), consentFormCallback()]);
    await database.rows(`update inbox set received_at = now() - interval '10 days' where family = 'receipt'`);
    const { destroy_after, destroyed_at } = await erase({ keepMs: 30 * day });
    expect(destroyed_at).toBeNull();
    expect(await count(`withheld.records where destroy_at - received_at = interval '30 days'`)).toBe(2);
    expect(await database.rows('select max(destroy_at) as destroy_after from withheld.records')).toEqual([
      { destroy_after },
    ]);

    await apply(database, [receiptCallback({ event_time: 1_900_000_000, data: { receipt_id: 2 } })]);
    expect(await erase({ keepMs: 0 })).toMatchObject({ destroy_after: null, destroyed_at: expect.any(Date) });
    expect(await count('withheld.records')).toBe(2);
  });

  it('is not readable to the roles of the reports', async () => {
    for (const role of ['reporting_reader', 'public']) {
      const [row] = await database.rows(
        `select has_schema_privilege($1, 'withheld', 'usage') as schema,
                has_table_privilege($1, 'withheld.records', 'select') as records`,
        [role],
      );
      expect(row).toEqual({ schema: false, records: false });
    }
  });

  it('what is due already is destroyed at once, unless a hold asks to keep it', async () => {
    await apply(database, [receiptCallback()]);
    await database.rows(`update inbox set received_at = now() - interval '10 days'`);
    await holdPatient(database.db, { id }, actor);
    expect((await erase({ keepMs: day })).counts).toMatchObject({ deliveries: 1, withheld: 1 });
    await releasePatient(database.db, { id }, actor);
    await apply(database, [consentFormCallback({ event_time: Math.floor(Date.now() / 1000) + 60 })]);
    await database.rows(`update inbox set received_at = now() - interval '10 days'`);
    expect((await erase({ keepMs: day })).counts).toMatchObject({ deliveries: 1, withheld: 0 });
  });
});

it('the totals of past days stay, with neither ids of persons nor text, or not even they', async () => {
  const totals = () =>
    database.rows(`
    select business_id, day::text, sum(receipts)::int as receipts, sum(net_amount) as net, sum(due_amount) as due,
           sum(deleted_receipts)::int as deleted
    from reporting.receipts_daily group by 1, 2 order by 1, 2`);
  const callbacks = [
    receiptCallback(),
    receiptCallback({ event: 'receipt.updated', event_time: 1_700_000_009, data: { net_amount: 77 } }),
    receiptCallback({ data: { receipt_id: 2, receipt_status: 'Asha Rao paid', amount_due: 5 } }),
    receiptCallback({ event: 'receipt.deleted', data: { receipt_id: 3 } }),
    receiptCallback({ data: { receipt_id: 4, patient_oid: 'somebody else' } }),
  ];
  await apply(database, callbacks);
  const before = await totals();
  const doctors =
    'select sum(net_amount) as net, sum(receipts)::int as receipts from reporting.doctors_daily';
  const [perDoctor] = await database.rows(doctors);
  await erase();
  expect(await totals()).toEqual(before);
  expect(await database.rows(doctors)).toEqual([perDoctor]);
  expect(await count('reporting.outstanding_receipts')).toBe(1);
  expect(await database.rows('select distinct status from erased_receipts order by 1')).toEqual([
    { status: 'SUCCESS' },
    { status: null },
  ]);
});

it('a dry run says what would be erased and changes nothing', async () => {
  await apply(database, [receiptCallback(), consentFormCallback(), reviewRequestCallback()]);
  const entries = await count('access_log');
  const { counts } = await previewErasure(database.db, families, { id }, options);
  for (const table of ['inbox', 'receipts', 'consent_forms', 'review_requests']) {
    expect([table, await count(table)]).not.toEqual([table, 0]);
  }
  for (const table of ['erased', 'erasures', 'erasing', 'withheld.records', 'erased_receipts']) {
    expect([table, await count(table)]).toEqual([table, 0]);
  }
  expect(await count('access_log')).toBe(entries);
  expect((await erase()).counts).toEqual(counts);
});

it('what was never received before is refused if it happened before the erasure, and comes in if it happened later', async () => {
  await erase();
  const now = Math.floor(Date.now() / 1000);
  expect(await insert(receiptCallback({ event_time: now - 3_600 }))).toEqual(['erased']);
  expect(await insert(receiptCallback({ event_time: now + 3_600 }))).toEqual(['accepted']);
});

it('the certificate and the list of erasures contain no personal data, and the erasure is in the access log', async () => {
  await apply(database, [receiptCallback()]);
  const { id: erasure } = await erase({}, { id, businessId: receiptCallback().business_id });
  const kept = JSON.stringify([
    await database.rows('select * from erasures'),
    await database.rows(`select encode(hash, 'escape') as hash, until from erased`),
    await exportErasures(database.db, actor),
    await database.rows('select * from access_log'),
  ]);
  for (const value of [id, receiptData.name, receiptData.mobile]) expect(kept).not.toContain(value);
  expect(
    await database.rows(`select actor, rows from access_log where filter->>'erasure' = $1`, [erasure]),
  ).toEqual([{ actor: 'tester', rows: '1' }]);
});

it('a hold is of one business or of all, is placed and released once, and leads to nobody', async () => {
  const patient = { id, businessId: 'b1' };
  expect(await holdPatient(database.db, patient, actor)).toBe(true);
  expect(await holdPatient(database.db, patient, actor)).toBe(false);
  expect([await isHeld(database.db, patient), await isHeld(database.db, { id })]).toEqual([true, false]);
  expect(
    JSON.stringify(await database.rows('select * from patient_holds, patient_pseudonyms')),
  ).not.toContain(id);
  expect(await releasePatient(database.db, patient, actor)).toBe(true);
  expect(await releasePatient(database.db, patient, actor)).toBe(false);
});

describe('a restored backup', () => {
  it('contains nothing of what was erased after it, once the list is applied, and nothing of it comes back', async () => {
    const erased = [receiptCallback(), consentFormCallback(), reviewRequestCallback()];
    const kept = [receiptCallback({ data: { receipt_id: 5, patient_oid: '161467756044299' } })];
    await apply(database, [...erased, ...kept]);
    await database.rows(
      `insert into quarantine (id, path, reason, body) values (gen_random_uuid(), $1, 'invalid', $2)`,
      [paths.receipt, Buffer.from(JSON.stringify({ ...receiptCallback(), event: 'x' }))],
    );
    const copy = await createCopy(database);
    const { id: erasure } = await erase();
    const list = parseErasures(await exportErasures(database.db, actor));
    const outcome = await applyErasures(copy.db, families, list, options);
    expect(outcome).toMatchObject({ erasures: 1, counts: { deliveries: 3, receipts: 1, quarantine: 1 } });
    for (const table of [
      'inbox',
      'receipts',
      'receipt_versions',
      'consent_forms',
      'review_requests',
      'quarantine',
    ]) {
      const rows = await copy.rows(`select t::text as row from ${table} t`);
      expect(JSON.stringify(rows)).not.toContain(id);
    }
    expect(await copy.rows('select receipt_id from receipts')).toEqual([{ receipt_id: '5' }]);
    expect(await copy.rows('select id, destroyed_at from erasures')).toEqual([
      { id: erasure, destroyed_at: null },
    ]);
    const results = await insertDeliveries(
      copy.pool,
      erased.map((callback) => deliveryOf(callback as never)),
    );
    expect(results).toEqual(['erased', 'erased', 'erased']);
    // Twice is as good as once.
    expect(await applyErasures(copy.db, families, list, options)).toMatchObject({
      erasures: 0,
      counts: { quarantine: 0 },
    });
    await copy.close();
  });

  it('a list of another database, or no list, is refused', async () => {
    await erase();
    const list = parseErasures(await exportErasures(database.db, actor));
    const foreign = { ...list, salt: 'ab'.repeat(32) };
    await expect(applyErasures(database.db, families, foreign, options)).rejects.toThrow(/another database/);
    expect(() => parseErasures('{}')).toThrow(/no list of erasures/);
  });

  it('a database without erasures, of a backup from before there were any, takes the list over', async () => {
    await apply(database, [receiptCallback()]);
    await erase();
    const list = parseErasures(await exportErasures(database.db, actor));
    const older = await createDatabase();
    await apply(older, [receiptCallback(), receiptCallback({ data: { receipt_id: 2, patient_oid: 'x' } })]);
    await applyErasures(older.db, families, list, options);
    expect(await older.rows('select receipt_id from receipts')).toEqual([{ receipt_id: '2' }]);
    await older.close();
  });
});

it('an erasure that a table of somebody else refers to says which, erases nothing, and goes on after the advice', async () => {
  await apply(database, [receiptCallback()]);
  await database.pool.query(`
    create table invoices (business_id text, receipt_id bigint,
      constraint of_receipt foreign key (business_id, receipt_id) references receipts (business_id, receipt_id));
    insert into invoices select business_id, receipt_id from receipts`);
  try {
    const error = await erase().catch((reason: Error) => reason);
    expect(error).toMatchObject({
      name: 'ErasureBlocked',
      message: expect.stringMatching(
        /^Nothing was erased: rows of table public\.invoices .* foreign key of_receipt\. Give it "on delete cascade"/,
      ),
    });
    expect(await count('receipts')).toBe(1);
    await database.pool.query(`alter table invoices drop constraint of_receipt, add constraint of_receipt
      foreign key (business_id, receipt_id) references receipts (business_id, receipt_id) on delete cascade`);
    const [certificate] = await continueErasures(database.db, families, options);
    expect(certificate).toMatchObject({ counts: expect.objectContaining({ receipts: 1 }) });
    expect(await count('receipts')).toBe(0);
  } finally {
    await database.pool.query('drop table invoices');
  }
});
