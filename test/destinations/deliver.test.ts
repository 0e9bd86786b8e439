import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { cursorOfNow } from '../../src/changes/cursor-of-now.ts';
import { addDestination, type Selection, setState } from '../../src/destinations/destination-table.ts';
import { renewLease, takeLease } from '../../src/destinations/lease.ts';
import { secretText } from '../../src/destinations/sign.ts';
import { noteChange, putWaiting, redrive, type WaitingRecord } from '../../src/destinations/waiting-table.ts';
import { families } from '../../src/families/index.ts';
import { readProblems } from '../../src/health/read-problems.ts';
import { erasePatient } from '../../src/privacy/erasure/erase.ts';
import { receiptCallback, receiptData } from '../support/callbacks.ts';
import { allowConnections } from '../support/database.ts';
import { apply } from '../support/deliveries.ts';
import { testConfig, useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { type ReceivedWebhook, startWebhookReceiver } from '../support/webhook-receiver.ts';

const { database, start } = useService({ per: 'test' });
let webhooks: Awaited<ReturnType<typeof startWebhookReceiver>>;
beforeEach(async () => {
  webhooks = await startWebhookReceiver();
});
afterEach(() => webhooks.stop());

const { times } = testConfig({}).destinations;
const destinations = { allow: ['127.0.0.1'], times: { ...times, lookMs: 50, noteMs: 20, graceMs: 500 } };
const worker = (overrides: Partial<typeof destinations> = {}) =>
  start({ role: 'worker', destinations: { ...destinations, ...overrides } });

async function add(selection: Partial<Selection> = {}, all = false) {
  const destination = await addDestination(
    database.db,
    {
      url: webhooks.url,
      families: ['receipt', 'appointment'],
      businessId: null,
      isPublic: false,
      maxInFlight: 10,
      ...selection,
    },
    all ? null : await cursorOfNow(database.db),
  );
  webhooks.secret = secretText(destination.secrets[0]!);
  return destination.id;
}

const receipt = (id: number, data: object = {}, envelope: object = {}) =>
  receiptCallback({ ...envelope, data: { receipt_id: id, ...data } });

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

const waiting = () =>
  database.rows('select record_id, attempts, outcome, parked_at from destination_waiting');
const makeDue = () => database.rows('update destination_waiting set next_at = now()');
const numbers = () => webhooks.accepted.map(({ data }) => data.id);

it('a record that fails waits alone, and gets its newest state; given up, it is sent again on request', async () => {
  const id = await add();
  await worker();
  webhooks.answer = ({ data }, res) => res.writeHead(data.id === '1' ? 500 : 200).end();
  await apply(database, [receipt(1)]);
  await until(async () => (await waiting()).length === 1);
  await apply(database, [receipt(1, { net_amount: 7, updated_at: 1_700_000_050_000 }), receipt(2)]);
  await until(() => numbers().includes('2'));
  await database.rows(
    `update destination_waiting set next_at = now(), failed_at = now() - interval '4 days'`,
  );
  await until(async () => (await waiting())[0]!.parked_at);
  expect(await waiting()).toMatchObject([{ record_id: '1', attempts: 2, outcome: '500' }]);
  webhooks.answer = (_webhook, res) => res.end();
  await apply(database, [receipt(3)]);
  await until(() => numbers().includes('3'));
  expect(numbers()).toEqual(['2', '3']);
  expect(await redrive(database.db, id, true)).toBe(1);
  await until(() => numbers().includes('1'));
  expect(webhooks.accepted.at(-1)!.data.record).toMatchObject({ net_amount: 7 });
  await until(async () => (await waiting()).length === 0);
  expect(webhooks.faults).toEqual([]);
});

it('of what two workers note about a record the later change counts, and is sent', async () => {
  const id = await add();
  await worker();
  const changeOf = ({ data }: ReceivedWebhook, version: number): WaitingRecord => ({
    ...{ family: data.family, businessId: data.business_id, recordId: data.id },
    ...{ kind: 'changed', version: data.version + version, attempts: 1 },
  });
  let failed = 0;
  webhooks.answer = async (webhook, res) => {
    failed = webhook.data.version;
    await putWaiting(database.db, id, changeOf(webhook, -1), { outcome: 'earlier' });
    res.writeHead(500).end();
  };
  await apply(database, [receipt(1)]);
  await until(async () => (await waiting())[0]?.outcome === '500');
  let isNoted = false;
  webhooks.answer = async (webhook, res) => {
    if (!isNoted) isNoted = await noteChange(database.db, id, changeOf(webhook, 1));
    res.end();
  };
  await until(async () => (await makeDue()) && webhooks.accepted.length === 2);
  expect(webhooks.accepted.map(({ data }) => data.version)).toEqual([failed, failed + 1]);
  await until(async () => (await waiting()).length === 0);
});

it('410 disables at once; resumed, it gets what has changed meanwhile, each record once', async () => {
  const id = await add();
  await worker();
  webhooks.answer = (_webhook, res) => res.writeHead(410).end();
  await apply(database, [receipt(1)]);
  const state = async () => (await database.rows('select state, reason from destinations'))[0];
  await until(async () => (await state())!.state === 'disabled');
  expect(webhooks.requests).toBe(1);
  expect(await readProblems(database.pool)).toMatchObject([
    { kind: 'destination', subject: id, title: `Destination ${id} is disabled` },
  ]);
  webhooks.answer = (_webhook, res) => res.end();
  for (const net_amount of [1, 2, 3])
    await apply(database, [receipt(2, { net_amount, updated_at: 1_700_000_050_000 + net_amount })]);
  expect(await waiting()).toEqual([]);
  await setState(database.db, id, 'active', null);
  await until(() => webhooks.accepted.length === 2);
  expect(webhooks.accepted.map(({ data }) => [data.id, data.record!.net_amount])).toEqual([
    ['1', receiptData.net_amount],
    ['2', 3],
  ]);
});

it('a destination that accepts nothing for a day is paused: after several attempts, whatever clock a worker has', async () => {
  await add();
  webhooks.answer = (_webhook, res) => res.writeHead(500).end();
  await worker();
  const state = async () =>
    (await database.rows('select state, reason, failing_since, leased_until from destinations'))[0]!;
  const noted = async () => {
    const { leased_until: before } = await state();
    await until(async () => Number((await state()).leased_until) > Number(before));
  };
  const now = Date.now();
  const ahead = jest.spyOn(Date, 'now').mockImplementation(() => now + 2 * 86_400_000 + performance.now());
  await apply(
    database,
    [1, 2, 3, 4, 5].map((n) => receipt(n)),
  );
  await until(async () => (await waiting()).length === 5 && (await state()).failing_since);
  await noted();
  await noted();
  expect(await state()).toMatchObject({ state: 'active' });
  ahead.mockRestore();
  await database.rows(`update destinations set failing_since = now() - interval '25 hours'`);
  await until(async () => (await state()).state === 'paused');
  expect((await state()).reason).toMatch(/nothing for a day/);
});

it('a destination that failed a day ago, and not yet since, is not paused', async () => {
  await add();
  await database.rows(`update destinations set failing_since = now() - interval '25 hours'`);
  webhooks.answer = (_webhook, res) => res.writeHead(500).end();
  await worker();
  await apply(database, [receipt(1)]);
  await until(async () => (await waiting()).length === 1);
  webhooks.answer = (_webhook, res) => res.end();
  await until(() => webhooks.accepted.length === 1);
});

it('after an erasure nothing personal is sent, also of a record that waited', async () => {
  await add({
    families: ['receipt', 'patient', 'health_account'].filter((name) =>
      families.some((one) => one.name === name),
    ),
  });
  await worker();
  webhooks.answer = (_webhook, res) => res.writeHead(500).end();
  await apply(database, [
    receipt(1),
    receipt(2, { patient_oid: '999', name: 'Ravi', mobile: '+918888888888' }),
  ]);
  await until(async () => (await waiting()).length === 2);
  const actor = { id: 'test' };
  const patient = { id: receiptData.patient_oid };
  await erasePatient(database.db, families, patient, { actor, keepMs: 0, keepsTotals: true });
  webhooks.answer = (_webhook, res) => res.end();
  await until(async () => {
    // An attempt from before may be noted only now.
    await makeDue();
    return (await waiting()).length === 0 && webhooks.accepted.length >= 2;
  });
  const sent = webhooks.accepted.map(({ type, data }) => [type, data.id, data.kind, data.record?.name]);
  expect(sent.toSorted()).toEqual([
    ['receipt.created', '2', 'changed', 'Ravi'],
    ['record.erased', '1', 'erased', undefined],
  ]);
});

it('what is erased while it waits for the erasure is not sent, though it was read before', async () => {
  await add();
  await worker();
  webhooks.answer = (_webhook, res) => res.writeHead(500).end();
  await apply(database, [receipt(1)]);
  await until(async () => (await waiting()).length === 1);
  await database.rows(`update destination_waiting set next_at = now() + interval '1 day'`);
  webhooks.answer = (_webhook, res) => res.end();
  const erasure = await database.db.startTransaction().execute();
  await sql`delete from destination_waiting`.execute(erasure);
  await apply(database, [receipt(1, { updated_at: 1_700_000_050_000 })]);
  const delayed = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await until(async () => (await database.rows(delayed)).length > 0);
  await sql`delete from receipts`.execute(erasure);
  await erasure.commit().execute();
  await apply(database, [receipt(2)]);
  await until(() => numbers().includes('2'));
  expect(numbers()).toEqual(['2']);
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

it('sends nowhere inside unless it is allowed, and what it keeps of an answer repeats nothing that was sent', async () => {
  await add();
  const { stop } = await worker({ allow: [] });
  await apply(database, [receipt(1)]);
  await until(async () => (await waiting()).length === 1);
  expect([webhooks.requests, (await waiting())[0]!.outcome]).toEqual([0, 'REFUSED_ADDRESS']);
  webhooks.answer = ({ data }, res) =>
    res.writeHead(400).end(`Unknown ${data.record!.name}, ${data.record!.mobile}`);
  await stop();
  await makeDue();
  await worker();
  const answers = () => database.rows(`select answer from destination_attempts where outcome = '400'`);
  await until(async () => (await answers()).length > 0);
  expect((await answers())[0]!.answer).toBe('Unknown … …, …');
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
  expect(
    await renewLease(database.db, lease, { cursor: undefined, delivered: 0, isFailing: false }),
  ).toBeUndefined();
  await allowConnections(database, false);
  await allowConnections(database, true);
  // A pooler closes connections of this test, too.
  const again = () => apply(database, [receipt(2)]);
  await until(() => again().catch(() => undefined));
  await until(() => numbers().includes('2'));
  expect(webhooks.faults).toEqual([]);
});
