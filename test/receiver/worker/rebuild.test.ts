import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { Delivery, RecordKey } from '../../../src/callbacks/delivery.ts';
import { defineFamily, type Family } from '../../../src/callbacks/families/family.ts';
import { amount, idOf, integer, notPersonal, text } from '../../../src/callbacks/families/field.ts';
import { families } from '../../../src/callbacks/families/index.ts';
import { createReadCallback } from '../../../src/callbacks/read-callback.ts';
import { Rejection } from '../../../src/callbacks/rejection.ts';
import { createLog } from '../../../src/common/log.ts';
import { applyGate } from '../../../src/receiver/gate/gate.ts';
import { OtherFamilies } from '../../../src/receiver/store/errors.ts';
import { insertQuery } from '../../../src/receiver/store/insert-deliveries.ts';
import { fingerprintOf, migrate } from '../../../src/receiver/store/migrate.ts';
import { inTransaction } from '../../../src/receiver/store/pools.ts';
import { createMerge } from '../../../src/receiver/worker/merge.ts';
import { rebuildRows } from '../../../src/receiver/worker/rebuild.ts';
import { isWaiting, whileLocked } from '../../support/database.ts';
import { deliveryOf, yesterday } from '../../support/intake.ts';
import { useReceiverDatabase } from '../../support/receiver-database.ts';
import { until } from '../../support/until.ts';

const database = useReceiverDatabase('test');
const log = createLog('silent');
const invoice = defineFamily({
  name: 'invoice',
  events: { 'invoice.created': 'created', 'invoice.updated': 'updated', 'invoice.deleted': 'deleted' },
  path: { default: ['/invoices'] },
  table: 'invoices',
  key: 'invoice_id',
  fields: { invoice_id: notPersonal(integer), total: amount, patient_id: text },
});
const withInvoices: Family[] = [...families, invoice];
const other = withInvoices.find(({ name }) => name === 'other');

const open = (list: readonly Family[] = families, maxCallbacks = 500, lines: object[] = []) => {
  const stores = { pool: database.pool, families: list };
  const merge = createMerge({ ...stores, log, limits: { statementMs: 30_000, mergeLockMs: 30_000 } });
  const warn = (line: object) => lines.push(line);
  const options = { ...stores, merge, log: { warn } as never };
  const rebuild = (onProgress?: (callbacks: number) => void) =>
    rebuildRows(options, onProgress, maxCallbacks);
  return { merge, rebuild };
};
const of = (event: string, data: object, envelope: object = {}) =>
  deliveryOf({ event, event_time: yesterday, business_id: 'b', ...envelope, data });
/** As it would come now, with the new family; also of an event of the receiver itself. */
const readCallback = createReadCallback(withInvoices, true);
const identifiedNow = (body: Buffer, receivedAt: number, id?: string) =>
  readCallback(body, { expected: other, receivedAt, id }).delivery;
const mergeAll = async () => {
  for (const { name } of families) await open().merge(name);
};
const inbox = () =>
  database.rows('select xmin::text, i.* from receiver.inbox i order by received_at') as Promise<
    { id: string; xmin: string; subjects: string[] }[]
  >;

it('a rebuild with nothing to change writes nothing', async () => {
  await database.store(
    of('receipt.created', {
      receipt_id: '07',
      created_at: '',
      net_amount: '12.50',
      far: { z: 1, patient_id: 'A', aa: [1e3] },
    }),
    of(
      'receipt.updated',
      { receipt_id: 7, amount_paid: 1.1, aid: 'x', patient_oid: 'B', pid: 'A' },
      { timestamp: 5 },
    ),
    of('abha.link_care_context', {
      care_context_id: 'c',
      status: 'LINKED',
      token: 'SECRET',
      oid: 12345678901234567890n.toString(),
    }),
    of('x.unknown', { 'with space': 'é', list: [{ pid: 'C' }], tiny: 1e-7 }, { client_id: 5 }),
    of('schedule.available_for_consultation', { doctor_id: 'd' }, { event_time: String(yesterday) }),
  );
  const read = of('appointment.updated', { appointment_id: 'a', patient_id: 'A' });
  await database.store(
    identifiedNow(Buffer.from(String(read.body).replace('updated', 'reconciled')), read.receivedAt),
  );
  await mergeAll();
  const all = async () => [
    await inbox(),
    await Promise.all(families.map(({ table }) => database.rows(`select xmin::text, * from ${table}`))),
  ];
  const before = await all();
  expect(await open().rebuild()).toEqual({ callbacks: 6, changed: 0, unreadable: 0, rows: 0, left: 0 });
  expect(await all()).toEqual(before);
});

it('callbacks of events that a family now lists move to it and are recorded as changes; others stay', async () => {
  const deliveries = [
    of('invoice.created', { invoice_id: '007', total: 5, patient_id: 'A' }),
    of('invoice.updated', { invoice_id: 7, total: 8 }, { event_time: yesterday + 1 }),
    of('invoice.deleted', { invoice_id: 8 }),
    of('x.unknown', { invoice_id: 7 }),
    of('receipt.created', { receipt_id: 7 }),
  ];
  await database.store(...deliveries);
  await mergeAll();
  // One waits, and was received again.
  await database.store(deliveries[1]!);
  await database.rows('insert into receiver.pending_deliveries (id, family) values ($1, $2)', [
    deliveries[1]!.id,
    'other',
  ]);
  await database.rows('delete from receiver.changes');
  await migrate(database.db, withInvoices, log);
  const { rebuild } = open(withInvoices, 2);
  expect(await rebuild()).toMatchObject({ changed: 3, left: 0, unreadable: 0 });
  const moved = `select event, status, delivery_count from deliveries where family = 'invoice' order by event`;
  expect(await database.rows(moved)).toEqual([
    { event: 'invoice.created', status: 'applied', delivery_count: 1 },
    { event: 'invoice.deleted', status: 'applied', delivery_count: 1 },
    { event: 'invoice.updated', status: 'applied', delivery_count: 2 },
  ]);
  // A reader of the feed gets the new records, and hears of those that they were before.
  const changes = 'select distinct family, record_id as id, kind from receiver.changes order by 1, 2';
  expect(await database.rows(changes)).toEqual([
    { family: 'invoice', id: '7', kind: 'changed' },
    { family: 'invoice', id: '8', kind: 'deleted' },
    ...deliveries
      .slice(0, 3)
      .map(({ id }) => ({ family: 'other', id, kind: 'erased' }))
      .sort((a, b) => (a.id < b.id ? -1 : 1)),
  ]);
  const [first] = await inbox();
  expect(first).toMatchObject({ id: deliveries[0]!.id, subjects: ['p:platform:A'], record_id: '7' });
  expect(await rebuild()).toMatchObject({ changed: 0, rows: 0 });
});

const callbacks = fc.array(
  fc.record({
    event: fc.constantFrom(...Object.keys(invoice.events), 'receipt.updated', 'x.unknown'),
    event_time: fc.integer({ min: yesterday, max: yesterday + 3 }),
    timestamp: fc.option(fc.integer({ min: yesterday, max: yesterday + 3 }), { nil: undefined }),
    business_id: fc.constantFrom('b', '', 5, null),
    data: fc
      .record(
        {
          invoice_id: fc.constantFrom(1, '01', 1.0, 'x', null),
          total: fc.oneof(
            fc.constantFrom('1.50', '', null, 'much', {}),
            fc.double({ noNaN: true, noDefaultInfinity: true }),
          ),
          patient_id: fc.constantFrom('A', 7, null),
          Pid: fc.constantFrom('B', ['C', 'A']),
          aa: fc.json({ maxDepth: 1 }),
        },
        { requiredKeys: [] },
      )
      .map((data) => ({ receipt_id: 1, ...data })),
  }),
  { minLength: 1, maxLength: 12 },
);

it('a rebuild makes of stored callbacks what they would be if they came now; what it cannot read stays, and is named', async () => {
  await migrate(database.db, withInvoices, log);
  const lines: { delivery: string }[] = [];
  const { rebuild } = open(withInvoices, 3, lines);
  const tables = withInvoices.map(({ table }) => table);
  await fc.assert(
    fc.asyncProperty(callbacks, async (drawn) => {
      await database.rows(`truncate receiver.inbox, receiver.pending_deliveries, ${tables}`);
      const deliveries = drawn.map((callback) => deliveryOf(callback));
      await database.store(...deliveries);
      const setFamilies = (list: readonly Family[]) =>
        database.rows(`update receiver.settings set value = $1 where name = 'families'`, [
          fingerprintOf(list),
        ]);
      // By the rules before: its families do not have the new one.
      await setFamilies(families);
      await mergeAll();
      await setFamilies(withInvoices);
      lines.length = 0;
      const { unreadable } = await rebuild();
      const named = lines.map(({ delivery }) => delivery);
      const rows = await database.rows('select * from receiver.inbox');
      const kept: unknown[] = [];
      for (const row of rows) {
        const { body, receivedAt, id } = deliveries.findLast((one) => one.id === row.id)!;
        try {
          const now = identifiedNow(body, receivedAt, id);
          expect({ ...row, data: row.data, subjects: (row.subjects as string[]).toSorted() }).toMatchObject({
            family: now.family,
            record_id: now.recordId,
            version: expect.stringMatching(new RegExp(now.version.slice(0, 20))),
            subjects: now.subjects.toSorted(),
            data: JSON.parse(now.data ?? 'null'),
          });
        } catch (error) {
          if (!(error instanceof Rejection)) throw error;
          kept.push(row.id);
          expect(row.family).toBe('other');
        }
      }
      expect([unreadable, named.sort()]).toEqual([kept.length, kept.sort()]);
      const others = await database.rows('select delivery_id as id from other_events');
      expect(others.map(({ id }) => id)).toEqual(expect.arrayContaining(kept));
      const rowsOfAll = () =>
        Promise.all(tables.map((table) => database.rows(`select * from ${table} order by delivery_id`)));
      const merged = await rowsOfAll();
      await database.rows(`truncate ${tables}`);
      await rebuild();
      expect(await rowsOfAll()).toEqual(merged);
    }),
    { numRuns: 30 },
  );
});

it('a field that a family has come to know gets its values, without a change of callbacks', async () => {
  await database.store(
    of('receipt.created', { receipt_id: 1, tip: 5, other: 6 }),
    of('receipt.updated', { receipt_id: 1 }),
    of('receipt.created', { receipt_id: 2 }),
  );
  await mergeAll();
  const before = await inbox();
  const wider = families.map((family: Family) =>
    family.name === 'receipt' ? { ...family, fields: { ...family.fields, tip: amount } } : family,
  );
  await migrate(database.db, wider, log);
  expect(await open(wider, 1).rebuild()).toMatchObject({ callbacks: 3, changed: 0, rows: 1 });
  expect(await database.rows('select tip, extra from receipts order by receipt_id')).toEqual([
    { tip: '5', extra: { other: 6 } },
    { tip: null, extra: null },
  ]);
  expect(await inbox()).toEqual(before);
});

const erase = (subject: string, ...records: RecordKey[]) =>
  inTransaction(database.pool, 'lock table receiver.erased in exclusive mode', async (client) => {
    const gate = 'insert into receiver.erased values (receiver.hash_of($1), now(), $2)';
    await client.query(gate, [subject, randomUUID()]);
    await applyGate(client, families, [], records);
  });

it('what an erasure has reduced keeps its id, record, version, subjects and data', async () => {
  await database.store(
    of('invoice.created', { invoice_id: 1, patient_id: 'A', total: 5 }),
    of('receipt.created', { receipt_id: 1, patient_oid: 'A', aid: 'x', created_at: '' }),
  );
  const records = 'select family, business_id as "businessId", record_id as "recordId" from receiver.inbox';
  await erase('p:platform:A', ...((await database.rows(records)) as unknown as RecordKey[]));
  await mergeAll();
  const before = await inbox();
  expect(before.map(({ subjects }) => subjects[0])).toEqual(['reduced', 'reduced']);
  await migrate(database.db, withInvoices, log);
  expect(await open(withInvoices).rebuild()).toMatchObject({ callbacks: 2, changed: 0, unreadable: 0 });
  expect(await inbox()).toEqual(before);
});

it('a callback that turns out to refer to an erased patient is reduced', async () => {
  const visit = of('appointment.created', { appointment_id: 'v', patient_id: 'A' });
  await database.store(
    visit,
    of('invoice.created', { invoice_id: 1, visit: 'v', memo: 'CANARY', total: 5 }),
    of('invoice.created', { invoice_id: 2, memo: 'kept' }),
  );
  await erase('p:platform:A', visit);
  const fields = { ...invoice.fields, visit: idOf('appointment') };
  const list: Family[] = [...families, { ...invoice, fields }];
  await migrate(database.db, list, log);
  const { rebuild } = open(list);
  expect(await rebuild()).toMatchObject({ changed: 2 });
  expect(await database.rows('select invoice_id, total, extra, visit from invoices order by 1')).toEqual([
    { invoice_id: '1', total: '5', visit: 'v', extra: null },
    { invoice_id: '2', total: null, visit: null, extra: { memo: 'kept' } },
  ]);
  expect(JSON.stringify(await inbox())).not.toContain('CANARY');
  expect(await rebuild()).toMatchObject({ changed: 0 });
});

it('a rebuild that ends anywhere is completed by the next one', async () => {
  await database.store(...Array.from({ length: 6 }, (_, n) => of('invoice.created', { invoice_id: n })));
  await mergeAll();
  await database.rows(
    'insert into receiver.pending_deliveries (id, family) select id, family from receiver.inbox',
  );
  await migrate(database.db, withInvoices, log);
  const options = { pool: database.pool, families: withInvoices, log };
  const killed = { ...options, merge: () => Promise.reject(new Error('killed')) };
  const dying = () => rebuildRows(killed, undefined, 2);
  await expect(dying()).rejects.toThrow('killed');
  const { rebuild, merge } = open(withInvoices, 1);
  // What waits does so in the family that it is of now.
  expect(await merge('invoice')).toMatchObject({ merged: 2 });
  await expect(dying()).rejects.toThrow('killed');
  const stop = () => {
    throw new Error('stopped');
  };
  await expect(rebuild(stop)).rejects.toThrow('stopped');
  await rebuild();
  expect(await database.rows('select from invoices')).toHaveLength(6);
  expect(await database.rows('select from other_events')).toEqual([]);
});

it('a copy that is stored while a callback is rewritten keeps its arrival and its version', async () => {
  const later = of('invoice.created', { invoice_id: 1 });
  await database.store(later);
  await migrate(database.db, withInvoices, log);
  const { rebuild } = open(withInvoices);
  const earlier = identifiedNow(later.body, later.receivedAt - 1);
  const running = await inTransaction(database.pool, '', async (client) => {
    await client.query(insertQuery([earlier], 60_000));
    const rebuilt = rebuild();
    await until(() => isWaiting(database));
    return { rebuilt };
  });
  expect(await running.rebuilt).toMatchObject({ changed: 1 });
  const stored =
    'select version, (extract(epoch from received_at) * 1e6)::bigint::text as at from receiver.inbox';
  const { version, receivedAt } = earlier;
  expect(await database.rows(stored)).toEqual([{ version, at: String(receivedAt) }]);
  expect(await rebuild()).toMatchObject({ changed: 0 });
});

it('a process with other families than the tables changes nothing', async () => {
  await database.store(of('invoice.created', { invoice_id: 1 }));
  const before = await inbox();
  await expect(open(withInvoices).rebuild()).rejects.toThrow(OtherFamilies);
  expect(await inbox()).toEqual(before);
});

it('a record whose row is locked, or whose data is refused, waits for the worker', async () => {
  await database.store(...[1, 2, 3].map((n) => of('invoice.created', { invoice_id: n, total: n })));
  await migrate(database.db, withInvoices, log);
  const { rebuild, merge } = open(withInvoices);
  await rebuild();
  await database.rows(`update invoices set total = 0; alter table invoices add check (total <> 2)`);
  await whileLocked(database, 'select from invoices where invoice_id = 1 for update', async () => {
    expect(await rebuild()).toMatchObject({ rows: 1, left: 2 });
  });
  await merge('invoice');
  const totals = await database.rows('select total from invoices order by invoice_id');
  expect(totals.map(({ total }) => total)).toEqual(['1', '0', '3']);
  const statuses = await database.rows('select status from deliveries order by 1');
  expect(statuses.map(({ status }) => status)).toEqual(['applied', 'applied', 'failed']);
});

it('a rebuild beside incoming callbacks, resends and merges loses nothing and ends', async () => {
  const stored = Array.from({ length: 300 }, (_, n) =>
    of('invoice.updated', { invoice_id: n % 90, total: n }, { event_time: yesterday + (n % 7) }),
  );
  await database.store(...stored);
  await mergeAll();
  await migrate(database.db, withInvoices, log);
  const { rebuild, merge } = open(withInvoices, 20);
  let isRunning = true;
  const [resent, received] = [new Map<Delivery, number>(), [] as Delivery[]];
  // Copies that have arrived earlier are written in place of those that are stored.
  const resend = async (from: number) => {
    for (let at = from; isRunning; at += 70) {
      const some = [...stored, ...stored].slice(at % 300, (at % 300) + 40).toReversed();
      for (const one of some) resent.set(one, (resent.get(one) ?? 0) + 1);
      await database.store(...some.map((one) => identifiedNow(one.body, one.receivedAt - resent.get(one)!)));
    }
  };
  const receive = async () => {
    while (isRunning) {
      const { body, receivedAt } = of('invoice.created', { invoice_id: received.length % 100 });
      received.push(identifiedNow(body, receivedAt));
      await database.store(received.at(-1)!);
    }
  };
  const work = async () => {
    while (isRunning) for (const name of ['invoice', 'other']) await merge(name);
  };
  const others = [resend(0), resend(150), receive(), work()];
  const stop = () => {
    isRunning = false;
  };
  await Promise.all([rebuild().finally(stop), ...others.map((one) => one.finally(stop))]);
  for (const name of ['invoice', 'other']) while ((await merge(name)).isFull);
  expect(await rebuild()).toMatchObject({ changed: 0, rows: 0, left: 0 });
  expect(await database.rows('select from other_events')).toEqual([]);
  const ids = new Set(received.map(({ id }) => id));
  expect(await database.count('receiver.inbox')).toBe(300 + ids.size);
});
