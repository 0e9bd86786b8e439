import type { Config } from '../../src/common/config/config.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { closeLater } from '../support/close-later.ts';
import { useReceiverDatabase } from '../support/receiver-database.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { post } from '../support/service.ts';
import { startService } from '../support/start-service.ts';
import { until } from '../support/until.ts';

const database = useReceiverDatabase('test');
let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

async function start(overrides: Partial<Config> = {}) {
  const service = await startService(database.url, overrides);
  closeLater(service.stop);
  return service.url;
}
async function send(url: string, receipt_id: number) {
  const callback = receiptCallback({ data: { receipt_id, net_amount: 500, name: 'Asha' } });
  const response = await post(url + paths.receipt, callback);
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
    const url = await start(kind === 'with a queue' ? { redisUrl: redis.url } : {});
    const first = await send(url, 77);
    expect(first).toMatchObject({ status: 200, body: { status: 'accepted' } });
    expect(await send(url, 77)).toMatchObject({
      status: 200,
      body: { status: 'duplicate', id: first.body.id },
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
  await send(receiver, 1);
  expect(await rows('select status from deliveries')).toEqual([{ status: 'received' }]);
  const worker = await start({ role: 'worker', redisUrl: redis.url });
  await untilApplied(1);
  expect((await send(worker, 2)).status).toBe(404);
  expect((await fetch(`${worker}/healthz`)).status).toBe(200);
});
