import type { Delivery } from '../../src/callbacks/delivery.ts';
import { families } from '../../src/callbacks/families/index.ts';
import { createLog } from '../../src/common/log.ts';
import { continueErasures, erasePatient } from '../../src/privacy/erase.ts';
import type { Core } from '../../src/receiver/feature.ts';
import { gateLock } from '../../src/receiver/gate/gate.ts';
import { databaseCircuit } from '../../src/receiver/store/circuit.ts';
import { coreOf, everything, mergeAll, storeIn } from '../support/core.ts';
import { isWaiting, whileLocked } from '../support/database.ts';
import { deliveryOf, openIntake, receiptOf, routeOf, yesterday } from '../support/intake.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { until } from '../support/until.ts';

const database = useReceiverDatabase('test');
let core: Core;
beforeEach(() => {
  core = coreOf(database);
});

const store = (...deliveries: Delivery[]) => storeIn(core, ...deliveries);

const actor = { id: 'somebody' };
const erase = (...subjects: string[]) => erasePatient(core, actor, subjects);

const start = yesterday;
/** A time after every erasure until now. */
const later = () => Math.floor(Date.now() / 1000) + 60;
const receipt = (data: object, envelope: object = {}) => receiptOf(1, data, envelope);
const account = (event = 'abha.created') =>
  deliveryOf({ event, event_time: start, data: { abha_address: 'canary@abdm', oid: 'A' } });
const bodies = async () =>
  JSON.stringify(await database.rows('select envelope, data, subjects from receiver.inbox'));

it('later visits come in whole, and refunds of an erased receipt count', async () => {
  await store(receipt({ patient_oid: 'A', name: 'CANARY', net_amount: 500 }));
  await erase('p:platform:A');
  expect(await bodies()).not.toMatch(/CANARY|p:platform:A/);
  await store(receipt({ amount_paid: -500, remarks: 'CANARY' }, { event_time: start + 1 }));
  expect(await bodies()).toContain('-500');
  expect(await bodies()).not.toContain('CANARY');
  expect(await database.rows('select from receiver.resends')).toEqual([]);
  await store(receipt({ receipt_id: 2, patient_oid: 'A', name: 'ANEW' }, { event_time: later() }));
  expect(await bodies()).toContain('ANEW');
});

it('what a new callback shows to belong to an erased patient is reduced in steps where it is too much', async () => {
  const nameless = Array.from({ length: 600 }, (_, n) =>
    receipt({ remarks: `CANARY ${n}` }, { event_time: start + 1 + n }),
  );
  await store(...nameless, receipt({ receipt_id: 2, patient_oid: 'A' }));
  expect(await erase('p:platform:A')).toMatchObject({ counts: { receipt: 1 } });
  await store(receipt({ patient_oid: 'A' }));
  expect(await bodies()).toContain('CANARY');
  await until(async () => (await continueErasures(core)) === 0);
  expect(await bodies()).not.toContain('CANARY');
});

it('receipts as of a moment before the erasure keep their amounts', async () => {
  await store(receipt({ patient_oid: 'A', name: 'CANARY', net_amount: 500 }));
  await mergeAll(core);
  const [{ before }] = (await database.rows('select now()::text as before')) as [{ before: string }];
  await erase('p:platform:A');
  const asOf = 'select net_amount::int, name from reporting.receipts_as_of($1)';
  expect(await database.rows(asOf, [before])).toEqual([{ net_amount: 500, name: null }]);
});

it('the feed has the row that an erasure changed, and nobody else’s', async () => {
  await store(
    receipt({ patient_oid: 'A', name: 'CANARY' }),
    deliveryOf({
      ...{ event: 'appointment.created', event_time: start, business_id: 'b' },
      data: { appointment_id: '7', patient_id: 'B' },
    }),
  );
  await mergeAll(core);
  const changes = () => database.rows('select record_id, kind from receiver.changes order by position');
  const before = await changes();
  await erase('p:platform:A');
  expect(await changes()).toEqual([...before, { record_id: '1', kind: 'erased' }]);
});

it('a value that does not fit its field goes, and so does what an id beside data names', async () => {
  await store(
    receipt({ patient_oid: 'A', net_amount: 'CANARY', amount_paid: 7 }),
    receipt({ receipt_id: 2, name: 'CANARY' }, { patient: { id: 'A' } }),
  );
  await erase('p:platform:A');
  expect(await bodies()).not.toMatch(/CANARY|"A"/);
  expect(await bodies()).toContain('"amount_paid":7');
});

it('an erasure whose row was refused completes once it can be written', async () => {
  await store(receipt({ patient_oid: 'A', name: 'CANARY' }));
  await mergeAll(core);
  await database.rows('alter table receipts add constraint named check (name is not null)');
  expect(await erase('p:platform:A')).toMatchObject({ completed_at: null });
  // Neither is another one of the same patient.
  expect(await erase('p:platform:A')).toMatchObject({ completed_at: null });
  await database.rows('alter table receipts drop constraint named');
  await until(async () => (await continueErasures(core)) === 0);
  expect(await everything(core)).not.toContain('CANARY');
});

it('a callback that names two people loses both', async () => {
  const data = { patient_id: 'A', list: [{ pid: 'B', name: 'CANARY' }] };
  await store(deliveryOf({ event: 'x.unknown', event_time: start, data }));
  await erase('p:platform:B');
  expect(await bodies()).not.toMatch(/CANARY|"A"/);
});

it('what is identified by a patient’s address goes as a whole, and its resend is a duplicate', async () => {
  const first = account();
  await store(first);
  await erase('p:platform:A');
  expect(await bodies()).toBe('[]');
  expect(await store(first)).toEqual(['duplicate']);
  expect(await store(account('abha.hip_profile_share'))).toEqual(['accepted']);
  expect(await bodies()).toBe('[]');
  expect(await database.count('receiver.withheld')).toBe(2);
});

it('the row of an account goes, whatever is stored of it between the steps of an erasure', async () => {
  await store(account());
  await mergeAll(core);
  expect(await everything(core)).toContain('public.health_accounts');
  // Ends behind the first step.
  const erasing = erasePatient({ ...core, families: [] }, actor, ['p:platform:A']);
  await expect(erasing).rejects.toThrow('other families');
  await store(account('abha.hip_profile_share'));
  await mergeAll(core);
  await continueErasures(core);
  expect(await continueErasures(core)).toBe(0);
  expect(await everything(core)).not.toContain('canary@abdm');
});

it('the locked row of an account goes later, also where originals are destroyed at once', async () => {
  core = coreOf(database, { erasure: { keepMs: 0 } });
  await store(account());
  await mergeAll(core);
  await whileLocked(database, 'select from health_accounts for update', async () => {
    expect(await erasePatient(core, actor, ['p:platform:A'])).toMatchObject({ completed_at: null });
  });
  // At once, although the row was put off.
  await continueErasures(core);
  expect(await continueErasures(core)).toBe(0);
  expect(await everything(core)).not.toContain('canary@abdm');
  expect(await database.rows('select from receiver.withheld')).toEqual([]);
});

it('a record with more callbacks than one step takes is erased', async () => {
  const count = 1_200;
  await store(
    ...Array.from({ length: count }, (_, n) =>
      receipt({ patient_oid: 'A', name: `CANARY ${n}` }, { event_time: start + n }),
    ),
  );
  await mergeAll(core);
  expect(await erase('p:platform:A')).toMatchObject({
    completed_at: expect.any(Date),
    counts: { receipt: count },
  });
  expect(await everything(core)).not.toContain('CANARY');
});

it('a callback about one patient at another’s admission takes only what follows it', async () => {
  const at = (seconds: number, event: string, data: object, transaction_id?: string) =>
    deliveryOf({ event, event_time: start + seconds, business_id: 'b', transaction_id, data });
  const part = (seconds: number, id: string, note: string) =>
    at(seconds, 'ipd_admissions_events.created', { id, note }, `ipd/b/admissions/a-1/events/${id}`);
  await store(
    at(0, 'ipd_admissions.created', { id: 'a-1', pid: 'B', ipid: 'kept' }),
    part(1, 'e-1', 'kept'),
    at(2, 'ipd_admissions.updated', { id: 'a-1', pid: 'A', ipid: 'CANARY' }),
    part(3, 'e-2', 'CANARY'),
    at(4, 'ipd_admissions.updated', { id: 'a-1', pid: 'B', ipid: 'kept' }),
    part(5, 'e-3', 'kept'),
  );
  await erase('p:platform:A');
  await store(part(6, 'e-4', 'kept'));
  expect(await bodies()).not.toContain('CANARY');
  expect(await database.count(`receiver.inbox where envelope::text like '%kept%'`)).toBe(5);
});

it('equal ids of two businesses, and the partner’s own ids of patients, never touch each other', async () => {
  const of = (business_id: string) =>
    deliveryOf({
      event: 'appointment.created',
      event_time: start,
      business_id,
      data: { appointment_id: 'a', partner_patient_id: 'A', partner_meta: `of ${business_id}` },
    });
  await store(of('b1'), of('b2'));
  await erase('p:partner:b1:A');
  expect(await bodies()).toContain('of b2');
  expect(await bodies()).not.toContain('of b1');
});

it('the gate does not let a callback pass that was being stored while the erasure committed', async () => {
  await database.rows(`
    create function slow() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(2); return new; end $$;
    create trigger slow before insert on receiver.inbox for each row execute function slow()`);
  const results: Promise<unknown>[] = [];
  await whileLocked(database, 'select pg_advisory_xact_lock(2)', async () => {
    // It has looked at what is erased, and is not stored.
    results.push(store(receipt({ patient_oid: 'A', name: 'CANARY' })));
    await until(() => isWaiting(database, `locktype = 'advisory'`));
    results.push(erase('p:platform:A'));
    await until(() => isWaiting(database, `relation = 'receiver.erased'::regclass`));
  });
  expect(await Promise.all(results)).toMatchObject([['accepted'], { counts: { receipt: 1 } }]);
  expect(await bodies()).not.toContain('CANARY');
});

it('a process that is frozen while it has the gate keeps nobody else from storing', async () => {
  const frozen = await database.pool.connect();
  frozen.on('error', () => {}); // PostgreSQL ends its session
  await frozen.query(`begin; ${gateLock(60_000)}`);
  expect(await store(receipt({ net_amount: 1 }))).toEqual(['accepted']);
  frozen.release(true);
});

it('a resend of what a restored backup lacks is stored reduced, once', async () => {
  const original = receipt({ patient_oid: 'A', name: 'CANARY', net_amount: 500 });
  const deleted = receipt({ patient_oid: 'A' }, { event: 'receipt.deleted', event_time: start + 1 });
  await store(original, deleted);
  await erase('p:platform:A');
  await database.rows('truncate receiver.inbox, receiver.pending_deliveries, receiver.withheld, receipts');
  expect(await store(original, deleted)).toEqual(['accepted', 'accepted']);
  expect(await store(original, deleted)).toEqual(['duplicate', 'duplicate']);
  await mergeAll(core);
  expect(
    await database.rows('select net_amount::int, name, deleted_at is not null as gone from receipts'),
  ).toEqual([{ net_amount: 500, name: null, gone: true }]);
});

it('a commit with a gated delivery that cannot be stored stores nothing, and its retry says accepted', async () => {
  await store(receipt({ patient_oid: 'A' }));
  await erase('p:platform:A');
  const intake = openIntake(database);
  const send = () =>
    Promise.allSettled(
      ['A', 'B', 'C'].map((patient_oid, n) =>
        intake.receive(receipt({ receipt_id: 10 + n, patient_oid }).body, routeOf('receipt')),
      ),
    );
  await database.rows(
    `alter table receiver.inbox add constraint broken check (not 'reduced' = any(subjects)) not valid`,
  );
  const first = await send();
  await database.rows('alter table receiver.inbox drop constraint broken');
  const second = await send();
  // Of the first time the group commit has stored the others alone.
  expect(first.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  const statuses = [...first.slice(1), second[0]!].map(
    (one) => one.status === 'fulfilled' && one.value.status,
  );
  expect(statuses).toEqual(['accepted', 'accepted', 'accepted']);
  expect(await database.rows('select from receiver.inbox')).toHaveLength(4);
  expect(await database.rows('select count from receiver.resends')).toEqual([{ count: 1 }, { count: 1 }]);
});

it('a receiver with other families refuses what concerns an erasure, and takes the callbacks of others', async () => {
  await store(receipt({ patient_oid: 'A' }));
  await erase('p:platform:A');
  const circuit = databaseCircuit(database.pool, createLog('silent'), 60_000);
  const others = families.filter(({ name }) => name !== 'booking');
  const intake = openIntake(database, { circuit, families: others });
  const people = Array.from({ length: 40 }, (_, n) => (n % 10 === 3 ? 'A' : `P${n}`));
  const results = await Promise.allSettled(
    people.map((patient_oid, n) =>
      intake.receive(receipt({ receipt_id: 100 + n, patient_oid, name: 'CANARY' }).body, routeOf('receipt')),
    ),
  );
  circuit.stop();
  expect(circuit.unavailableSince).toBeUndefined();
  expect(results.map(({ status }) => status === 'fulfilled')).toEqual(people.map((person) => person !== 'A'));
  expect(results[3]).toMatchObject({
    reason: { name: 'Unavailable', cause: { name: 'StoreUnavailable', cause: { name: 'OtherFamilies' } } },
  });
});

it('names that are keys go with an erasure, from callbacks, rows, counts and the feed', async () => {
  const intake = openIntake(database);
  const data = { patient_oid: 'A', Canary: { '9900000001': 1 } };
  const send = (event_time: number) =>
    intake.receive(receipt(data, { event_time, Canary: 1 }).body, routeOf('receipt'));
  await send(start);
  await intake.close();
  await mergeAll(core);
  await send(start + 1);
  expect(await everything(core)).toContain('Canary');
  await erase('p:platform:A');
  await send(start + 2);
  await intake.close();
  await mergeAll(core);
  expect(await everything(core)).not.toMatch(/Canary|9900000001/);
});

it('a doctor’s id beside the patient’s lets no name come back with a later event of the record', async () => {
  const admission = (event_time: number, ipid: string) =>
    deliveryOf({
      ...{ event: 'ipd_admissions.updated', event_time, business_id: 'b' },
      data: { id: 'a-1', pid: 'A', doc: { oid: 'D' }, ipid },
    });
  await store(admission(start, 'CANARY'));
  await erase('p:platform:A');
  await store(admission(later(), 'CANARY'));
  expect(await bodies()).not.toContain('CANARY');
});
