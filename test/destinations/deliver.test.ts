import { randomUUID } from 'node:crypto';
import { cursorOfNow } from '../../src/changes/cursor-of-now.ts';
import {
  addDestination,
  resumeDestination,
  type Selection,
  takeLease,
} from '../../src/destinations/destination-table.ts';
import { post } from '../../src/destinations/post.ts';
import { secretText } from '../../src/destinations/sign.ts';
import { testMessage } from '../../src/destinations/to-message.ts';
import { families } from '../../src/families/index.ts';
import { readProblems } from '../../src/health/read-problems.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { receiptCallback, receiptData } from '../support/callbacks.ts';
import { allowConnections } from '../support/database.ts';
import { apply } from '../support/deliveries.ts';
import { testConfig, useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const { database, start } = useService({ per: 'test' });
let webhooks: Awaited<ReturnType<typeof startWebhookReceiver>>;
beforeEach(async () => {
  webhooks = await startWebhookReceiver();
});
afterEach(() => webhooks.stop());

const destinations = { ...testConfig({}).destinations, lookMs: 50, graceMs: 500 };
const worker = () => start({ role: 'worker', destinations });

async function add(selection: Partial<Selection> = {}, all = false) {
  const destination = await addDestination(
    database.db,
    {
      url: webhooks.url,
      families: ['receipt', 'appointment'],
      businessId: null,
      isPublic: false,
      ...selection,
    },
    all ? null : await cursorOfNow(database.db),
  );
  webhooks.secret = secretText(destination.secret);
  return destination.id;
}

const receipt = (id: number, data: object = {}, envelope: object = {}) =>
  receiptCallback({ ...envelope, data: { receipt_id: id, ...data } });
const numbers = () => webhooks.accepted.map(({ data }) => data.id);
const state = async () =>
  (await database.rows('select state, reason, attempts from destinations'))[0] as Record<string, unknown>;
const makeDue = () => database.rows('update destinations set next_at = now() where next_at is not null');

it('sends each change, signed, with the record as it is; reads are in the access log with its name', async () => {
  await apply(database, [receipt(1)]);
  const id = await add();
  await worker();
  await apply(database, [receipt(2)]);
  await until(() => webhooks.accepted.length === 1);
  const [{ type, data }] = webhooks.accepted as [(typeof webhooks.accepted)[0]];
  expect([type, data]).toEqual([
    'receipt.created',
    expect.objectContaining({ family: 'receipt', id: '2', kind: 'changed', record: expect.anything() }),
  ]);
  expect(data.record).toMatchObject({ receipt_id: 2, receipt_number: receiptData.receipt_number });
  expect(
    await database.rows(`select actor, actor_name, rows from access_log where action = 'changes'`),
  ).toEqual([{ actor: 'destination', actor_name: id, rows: '1' }]);
  expect(webhooks.faults).toEqual([]);
});

it('what is not accepted waits, with what follows it, and gets its newest state', async () => {
  const id = await add();
  await worker();
  webhooks.answer = (_webhook, res) => res.writeHead(500).end();
  await apply(database, [receipt(1)]);
  await until(async () => (await state()).attempts === 1);
  await apply(database, [receipt(2)]);
  await apply(database, [receipt(1, { net_amount: 7, updated_at: 1_700_000_050_000 })]);
  expect(await state()).toEqual({ state: 'active', reason: '500', attempts: 1 });
  await database.rows(`update destinations set failing_since = now() - interval '2 hours'`);
  expect(await readProblems(database.pool)).toMatchObject([
    { kind: 'destination', subject: id, title: `Destination ${id} is failing` },
  ]);
  webhooks.answer = (_webhook, res) => res.end();
  await makeDue();
  await until(() => numbers().includes('2') && webhooks.newest.size === 2);
  await until(async () => (await state()).attempts === 0);
  expect([...webhooks.newest.values()].find(({ data }) => data.id === '1')!.data.record).toMatchObject({
    net_amount: 7,
  });
  expect(webhooks.faults).toEqual([]);
});

it('410 pauses at once; resumed, it gets what has changed meanwhile, each record once', async () => {
  const id = await add();
  await worker();
  webhooks.answer = (_webhook, res) => res.writeHead(410).end();
  await apply(database, [receipt(1)]);
  await until(async () => (await state()).state === 'paused');
  expect(webhooks.requests).toBe(1);
  expect(await readProblems(database.pool)).toMatchObject([
    { kind: 'destination', subject: id, title: `Destination ${id} is paused` },
  ]);
  webhooks.answer = (_webhook, res) => res.end();
  for (const net_amount of [1, 2, 3])
    await apply(database, [receipt(2, { net_amount, updated_at: 1_700_000_050_000 + net_amount })]);
  await resumeDestination(database.db, id);
  await until(() => webhooks.newest.size === 2);
  const told = [...webhooks.newest.values()].map(({ data }) => [data.id, data.record!.net_amount]);
  expect(told).toEqual([
    ['1', receiptData.net_amount],
    ['2', 3],
  ]);
});

it('a destination is paused after the attempts of three days', async () => {
  await add();
  await database.rows('update destinations set attempts = 14');
  webhooks.answer = (_webhook, res) => res.writeHead(500).end();
  await worker();
  await apply(database, [receipt(1)]);
  await until(async () => (await state()).state === 'paused');
  expect(await state()).toMatchObject({ reason: expect.stringMatching(/three days: 500/), attempts: 15 });
});

it('what is erased is not sent, though it was read before', async () => {
  await add();
  const ids = ['1', '2', '3'];
  await apply(
    database,
    ids.map((id) => receipt(Number(id), { patient_oid: `90${id}` })),
  );
  const sent: string[] = [];
  webhooks.answer = async ({ data }, res) => {
    sent.push(data.id);
    if (sent.length !== 2) return res.end();
    // It was read with this one.
    const last = ids.find((id) => !sent.includes(id));
    const options = { actor: { id: 'test' }, keepMs: 0 };
    await erasePatient(database.db, families, { id: `90${last}` }, options);
    setTimeout(() => res.end(), 600);
  };
  await worker();
  await until(() => webhooks.accepted.length === 3);
  expect(webhooks.accepted[2]).toMatchObject({
    type: 'record.erased',
    data: { kind: 'erased', record: null },
  });
});

it('public columns only, of one business, from the first record on', async () => {
  await apply(database, [receipt(1), receipt(2, {}, { business_id: 'other' })]);
  await add({ isPublic: true, businessId: 'other' }, true);
  await worker();
  await until(() => webhooks.accepted.length === 1);
  expect(webhooks.accepted[0]!.data).toMatchObject({
    id: '2',
    record: { net_amount: receiptData.net_amount },
  });
  expect(JSON.stringify(webhooks.accepted)).not.toContain(receiptData.mobile);
  expect(await database.rows(`select 1 from access_log where action = 'changes'`)).toEqual([]);
});

it('continues after an outage of PostgreSQL, and after the worker that had the lease', async () => {
  const id = await add();
  const lease = { id, holder: randomUUID(), leaseMs: 2_000 };
  expect(await takeLease(database.db, lease)).toMatchObject({ id });
  await worker();
  await apply(database, [receipt(1)]);
  // Who has sent it has the lease.
  await until(() => numbers().includes('1'));
  expect(await takeLease(database.db, { ...lease, holder: randomUUID() })).toBeUndefined();
  await allowConnections(database, false);
  await allowConnections(database, true);
  // A pooler closes connections of this test, too.
  const again = () => apply(database, [receipt(2)]);
  await until(() => again().catch(() => undefined));
  await until(() => numbers().includes('2'));
  expect(webhooks.faults).toEqual([]);
});

it('follows no redirect, and waits for no answer for ever', async () => {
  await add();
  const secret = Buffer.from(webhooks.secret.slice('whsec_'.length), 'base64');
  const send = () => post({ url: webhooks.url, secret }, testMessage('d-1'), 200);
  webhooks.answer = (_webhook, res) => res.writeHead(302, { Location: webhooks.url }).end();
  expect(await send()).toMatchObject({ outcome: '302' });
  webhooks.answer = () => {};
  expect(await send()).toMatchObject({ outcome: 'TimeoutError' });
  expect(webhooks.requests).toBe(2);
});
