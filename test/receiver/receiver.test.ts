import { startParts } from '../../src/app/start-parts.ts';
import type { Family } from '../../src/callbacks/families/family.ts';
import { families } from '../../src/callbacks/families/index.ts';
import type { Config } from '../../src/common/config/config.ts';
import { createLog } from '../../src/common/log.ts';
import { startReceiver } from '../../src/receiver/receiver.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { testConfig } from '../support/service.ts';
import { until } from '../support/until.ts';

const database = useReceiverDatabase('test');
let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
const log = createLog('silent');
const stops: (() => Promise<void>)[] = [];
afterEach(() => Promise.all(stops.splice(0).map((stop) => stop())));

async function start(overrides: Partial<Config> = {}, list: readonly Family[] = families) {
  const config = testConfig(overrides);
  const options = { databaseUrl: database.url, families: list, log };
  const { result, stop } = await startParts((onStop) => startReceiver(config, options, onStop), log);
  stops.push(stop);
  return { url: result.url, stop };
}

const receipt = (receipt_id: number, data = {}, event = 'created', event_time = seconds) => ({
  ...{ event: `receipt.${event}`, event_time, timestamp: event_time, business_id: 'b' },
  data: { receipt_id, ...data },
});
const seconds = Math.floor(Date.now() / 1000) - 3_600;

async function send(url: string, callback: object, path = '/registered_url_for_receipt_events') {
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(callback) });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}
const rows = (query: string) => database.rows(query);
const untilApplied = (count: number) =>
  until(async () => {
    const [row] = await rows(`select count(*)::int as n from deliveries where status = 'applied'`);
    return row!.n === count;
  });

it.each(['without a queue', 'with a queue'])(
  '%s, a callback becomes a row, and a resend changes nothing',
  async (kind) => {
    const { url } = await start(kind === 'with a queue' ? { redisUrl: redis.url } : {});
    const first = await send(url, receipt(77, { net_amount: 500, name: 'Asha' }));
    expect(first).toMatchObject({ status: 200, body: { status: 'accepted' } });
    expect(await send(url, receipt(77, { net_amount: 500, name: 'Asha' }))).toMatchObject({
      ...{ status: 200, body: { status: 'duplicate', id: first.body.id } },
    });
    await untilApplied(1);
    expect(await rows('select receipt_id, net_amount::float, name from receipts')).toEqual([
      { receipt_id: '77', net_amount: 500, name: 'Asha' },
    ]);
    expect(await rows('select delivery_count from deliveries')).toEqual([{ delivery_count: 2 }]);
  },
);

it('a receiver and a worker are processes of their own', async () => {
  const receiver = await start({ role: 'receiver', redisUrl: redis.url });
  await send(receiver.url, receipt(1));
  expect(await rows('select status from deliveries')).toEqual([{ status: 'received' }]);
  const worker = await start({ role: 'worker', redisUrl: redis.url });
  await untilApplied(1);
  expect((await send(worker.url, receipt(2))).status).toBe(404);
  expect((await fetch(`${worker.url}/healthz`)).status).toBe(200);
});

it('what a lean callback does not say stays, and a deletion with its id alone keeps amount and day', async () => {
  const { url } = await start();
  await send(url, receipt(77, { net_amount: 500, name: 'Asha', clinic_id: 'c', created_at: seconds * 1000 }));
  await send(url, receipt(77, { amount_paid: 500 }, 'updated', seconds + 1));
  await send(url, receipt(77, {}, 'deleted', seconds + 2));
  await untilApplied(3);
  expect(
    await rows(`select name, clinic_id, net_amount::float, amount_paid::float, deleted_at is not null as deleted,
                       extract(epoch from created_at)::int as created from receipts`),
  ).toEqual([
    { name: 'Asha', clinic_id: 'c', net_amount: 500, amount_paid: 500, deleted: true, created: seconds },
  ]);
});
