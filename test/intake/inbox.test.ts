import { createLog } from '../../src/common/log.ts';
import { Unavailable } from '../../src/intake/delivery.ts';
import { createInbox } from '../../src/intake/inbox.ts';
import { databaseCircuit } from '../../src/intake/probe-inbox.ts';
import { DataRefused } from '../../src/receiver/intake/rejection.ts';
import { openDatabase } from '../../src/store/database.ts';
import { deliveryOf, receiptCallback } from '../support/callbacks.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();
beforeEach(() => database.pool.query('truncate inbox'));

const log = createLog('silent');

function openInbox(pool = database.pool, enqueue = async (_deliveries: object[]) => {}) {
  return createInbox({ pool, circuit: databaseCircuit(pool, { log }), enqueue, log });
}

const numbered = (count: number) =>
  Array.from({ length: count }, (_, receipt_id) => deliveryOf(receiptCallback({ data: { receipt_id } })));

it('ten copies of one delivery in one commit are one row, counted ten times, accepted once', async () => {
  const [delivery] = numbered(1);
  const inbox = openInbox();
  const results = await Promise.all(Array.from({ length: 10 }, () => inbox.append(delivery!)));
  expect(results.filter((result) => result === 'accepted')).toHaveLength(1);
  expect(await inbox.append(delivery!)).toBe('duplicate');
  expect(await database.rows('select id, delivery_count, status from deliveries')).toEqual([
    { id: delivery!.id, delivery_count: 11, status: 'received' },
  ]);
});

it('copies of deliveries that two receivers commit at once, in any order, are accepted once', async () => {
  for (let round = 0; round < 5; round += 1) {
    const deliveries = numbered(100 * (round + 1)).slice(100 * round);
    const receivers = [openInbox(database.pool), openInbox(database.pool)];
    const results = await Promise.all(
      receivers.flatMap((inbox, index) =>
        (index ? deliveries.toReversed() : deliveries).map((delivery) => inbox.append(delivery)),
      ),
    );
    expect(results.filter((result) => result === 'accepted')).toHaveLength(100);
  }
  const counted = 'select count(*)::int as rows, sum(delivery_count)::int as copies from deliveries';
  expect(await database.rows(counted)).toEqual([{ rows: 500, copies: 1000 }]);
});

it('of two hundred deliveries, only the one that PostgreSQL rejects is rejected', async () => {
  const deliveries = numbered(201);
  const text = deliveries[77]!.body.toString().replace('SUCCESS', String.raw`\u0000secret`);
  const bad = { ...deliveries[77]!, body: Buffer.from(text) };
  deliveries[77] = bad;
  const inbox = openInbox();
  const results = await Promise.allSettled(deliveries.map((delivery) => inbox.append(delivery)));
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(200);
  expect(results[77]).toMatchObject({ status: 'rejected', reason: expect.any(DataRefused) });
  expect((results[77] as PromiseRejectedResult).reason.message).not.toContain('secret');
  const [count] = await database.rows('select count(*)::int as n from deliveries');
  expect(count).toEqual({ n: 200 });
});

it('two receivers that store the same deliveries in opposite orders never deadlock', async () => {
  const deliveries = numbered(300);
  const inboxes = [openInbox(), openInbox()];
  const results = await Promise.all([
    ...deliveries.map((delivery) => inboxes[0]!.append(delivery)),
    ...deliveries.toReversed().map((delivery) => inboxes[1]!.append(delivery)),
  ]);
  expect(results.filter((result) => result === 'accepted')).toHaveLength(300);
  expect(await database.rows('select sum(delivery_count)::int as n from deliveries')).toEqual([{ n: 600 }]);
});

it('the queue gets the ids and families of new deliveries, once', async () => {
  const enqueued: object[] = [];
  const inbox = openInbox(database.pool, async (some) => {
    enqueued.push(...some);
  });
  const deliveries = numbered(50);
  await Promise.all([...deliveries, ...deliveries].map((delivery) => inbox.append(delivery)));
  await inbox.append(deliveries[0]!);
  await inbox.drained();
  expect(new Set(enqueued)).toEqual(new Set(deliveries.map(({ id }) => ({ id, family: 'receipt' }))));
  expect(enqueued).toHaveLength(50);
});

it('drained waits until the queue has the ids', async () => {
  let enqueued = false;
  const inbox = openInbox(database.pool, async () => {
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
    enqueued = true;
  });
  await inbox.append(numbered(1)[0]!);
  expect(enqueued).toBe(false);
  await inbox.drained();
  expect(enqueued).toBe(true);
});

it('a failure of the queue does not fail the delivery', async () => {
  const inbox = openInbox(database.pool, () => Promise.reject(new Error('down')));
  expect(await inbox.append(numbered(1)[0]!)).toBe('accepted');
  await inbox.drained();
});

it('acknowledges nothing while the database is unavailable', async () => {
  const unavailable = openDatabase('postgresql://nobody@127.0.0.1:1/none', log, {
    connections: 1,
    name: 'test',
  });
  const inbox = openInbox(unavailable.pool);
  await expect(inbox.append(numbered(1)[0]!)).rejects.toThrow(Unavailable);
  await inbox.drained();
  await unavailable.close();
});

it('a callback is stored as received, to the last digit and with unknown fields', async () => {
  const json =
    '{"event":"receipt.created","event_time":1700000000,"timestamp":0,"client_id":"c","business_id":"b",' +
    '"extra":{"z":1.10,"a":[1e2,"é"]},"data":{"receipt_id":1}}';
  await openInbox().append({ ...deliveryOf(JSON.parse(json)), body: Buffer.from(json) });
  const [row] = await database.rows(
    `select envelope->'extra' as extra, envelope->'extra'->>'z' as z from deliveries`,
  );
  expect(row).toEqual({ extra: { z: 1.1, a: [100, 'é'] }, z: '1.10' });
});
