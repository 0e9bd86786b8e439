import type { Delivery } from '../../../src/callbacks/delivery.ts';
import { createLog } from '../../../src/common/log.ts';
import { erasePatient } from '../../../src/privacy/erase.ts';
import { gateLock } from '../../../src/receiver/gate/gate.ts';
import { databaseCircuit } from '../../../src/receiver/store/circuit.ts';
import { inTransaction } from '../../../src/receiver/store/pools.ts';
import { coreOf, storeIn } from '../../support/core.ts';
import { isWaiting, whileLocked } from '../../support/database.ts';
import { deliveryOf, openIntake, receiptOf, routeOf, yesterday } from '../../support/intake.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';
import { testConfig } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const database = useReceiverDatabase('test');
const store = (...deliveries: Delivery[]) => storeIn(coreOf(database), ...deliveries);
const erase = () => erasePatient(coreOf(database), { id: 'somebody' }, ['p:platform:A']);
const ofErased = (id: number, data: object = {}) =>
  receiptOf(id, { patient_oid: 'A', name: 'CANARY', ...data });
const ofOther = (id: number) => receiptOf(id, { patient_oid: 'B', name: 'kept' });
const inbox = () => database.rows('select id, version, envelope::text from receiver.inbox order by id');

/** PostgreSQL raises this where something is reduced. */
const refuse = (sqlstate: string) =>
  database.rows(`
    create or replace function refuse() returns trigger language plpgsql as $$ begin raise exception sqlstate '${sqlstate}'; end $$;
    create or replace trigger refuse before insert on receiver.erased for each row execute function refuse()`);

/** Sends a callback of the erased patient twice, and two of another one, together and with a fallback store at hand. */
async function sendBoth() {
  const spilled: unknown[] = [];
  const circuit = databaseCircuit(database.pool, createLog('silent'), 60_000);
  const fallback = { append: async (some: unknown[]) => void spilled.push(...some) };
  const config = testConfig({ times: { databaseMs: 5_000 } });
  const intake = openIntake(database, { config, circuit, fallback });
  const bodies = [ofErased(2), ofOther(3), ofErased(2), ofOther(4)].map(({ body }) => body);
  const results = await Promise.allSettled(bodies.map((body) => intake.receive(body, routeOf('receipt'))));
  await intake.close();
  circuit.stop();
  const statuses = results.map((one) =>
    one.status === 'fulfilled' ? one.value.status : `${one.reason.name} of ${one.reason.cause.name}`,
  );
  expect([circuit.unavailableSince, spilled]).toEqual([undefined, []]);
  return statuses;
}

it('where the gate is taken for too long, only what it has to judge is sent again, and no store is away', async () => {
  await store(ofErased(1));
  await erase();
  await whileLocked(database, 'lock table receiver.erased in row share mode', async () => {
    const refused = 'Unavailable of StoreUnavailable';
    expect(await sendBoth()).toEqual([refused, 'accepted', refused, 'accepted']);
  });
  expect(await inbox()).toHaveLength(3);
  expect(await sendBoth()).toEqual(['accepted', 'duplicate', 'duplicate', 'duplicate']);
  expect(JSON.stringify(await inbox())).not.toContain('CANARY');
});

it('a fault of the gate is never one of the data, however long it lasts', async () => {
  await store(ofErased(1));
  await erase();
  await refuse('0A000');
  const refused = 'Unavailable of GateFailed';
  expect(await sendBoth()).toEqual([refused, 'accepted', refused, 'accepted']);
  await database.rows(`update receiver.counters set first_at = now() - interval '7 hours'`);
  expect(await sendBoth()).toEqual([refused, 'duplicate', refused, 'duplicate']);
  expect(await database.count('receiver.quarantine')).toBe(0);
  expect(await database.count('receiver.resends where count > 1')).toBe(0);
  await database.rows('drop function refuse cascade');
  expect(await sendBoth()).toEqual(['accepted', 'duplicate', 'duplicate', 'duplicate']);
});

it('an insert of a former build waits for an erasure, and sees its hashes', async () => {
  const former = `
    with gate as (select from receiver.erased where false for share)
    insert into receiver.inbox select gen_random_uuid(), 'receipt', 'receipt.updated', '', 'b', '1', '', now(), '{}', '{}', null, now()
    where not exists (select from receiver.erased) or not exists (select from receiver.erased where hash = receiver.hash_of('p:platform:A'))`;
  const { inserting } = await inTransaction(database.pool, gateLock(60_000), async (eraser) => {
    const inserting = database.rows(former);
    await until(() => isWaiting(database, `relation = 'receiver.erased'::regclass`));
    await eraser.query(`select receiver.gate(receiver.hash_of('p:platform:A'), now(), gen_random_uuid())`);
    return { inserting };
  });
  await inserting;
  expect(await inbox()).toEqual([]);
});

it('of copies about somebody who was erased, of which the fallback store has one, one is stored', async () => {
  await store(ofErased(1));
  await erase();
  const intake = openIntake(database);
  const { id, family, body, receivedAt } = ofErased(2);
  const results = await Promise.all([
    intake.receive(body, routeOf('receipt')),
    intake.drain({ id, family, body, receivedAt: receivedAt - 1 }),
    intake.receive(body, routeOf('receipt')),
    intake.drain({ id, family, body, receivedAt: receivedAt - 1 }),
  ]);
  await intake.close();
  expect(results.filter((result) => result?.status === 'accepted').length).toBeLessThan(2);
  expect(await inbox()).toHaveLength(2);
  expect(await database.rows('select from receiver.quarantine')).toEqual([]);
});

it('commits with the same callbacks in other orders do not wait for each other in a circle', async () => {
  const deleted = (id: number) => receiptOf(id, { patient_oid: 'A' }, { event: 'receipt.deleted' });
  await store(ofErased(1), ofErased(2));
  await erase();
  // A record of its own, which is stored with another id.
  const review = deliveryOf({
    ...{ event: 'google_review.request', event_time: yesterday },
    data: { patient_id: 'A' },
  });
  const all = [deleted(1), ofOther(3), deleted(2), review, ofOther(4)];
  const orders = Array.from({ length: 8 }, (_, n) => (n % 2 ? all : all.toReversed()));
  const results = await Promise.all(orders.map((order) => store(...order)));
  expect(results.flat().filter((result) => result === 'accepted')).toHaveLength(all.length);
  expect(await inbox()).toHaveLength(2 + all.length);
});

it('a resend of a reduced callback is a duplicate, also where it names somebody by newer rules', async () => {
  const lean = receiptOf(1, { remarks: 'CANARY' });
  await store(ofErased(1), lean);
  await erase();
  expect(await store({ ...lean, subjects: ['p:partner:b:55'] })).toEqual(['duplicate']);
});
