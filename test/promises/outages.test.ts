import { type Backend, type Deployment, startDeployment } from '../chaos/deployment.ts';
import { paths, receiptCallback } from '../support/callbacks.ts';
import { post } from '../support/service.ts';
import { until } from '../support/until.ts';
import { type Acknowledged, keepSending, sendReceipt, sendReceipts, untilApplied } from './promise.ts';

let deployment: Deployment;
let acknowledged: Acknowledged;
beforeEach(() => {
  acknowledged = new Map();
});
afterEach(() => deployment.stop());

const start = async (backend: Backend) => {
  deployment = await startDeployment(backend);
};
const send = (count: number) => sendReceipts(deployment.url, count, acknowledged);
const all = (count: number, status: number) => Array(count).fill(status);
const readyz = async () => (await fetch(`${deployment.url}/readyz`)).status;
/** Answers are shared for a second: one may be from before. */
const untilReady = (status: number) => until(async () => (await readyz()) === status);
const roles = ['receiver', 'worker'] as const;
const restart = async () => {
  await Promise.all(roles.map((role) => deployment.processOf(role).end('SIGKILL')));
  await Promise.all(roles.map((role) => deployment.start(role)));
};

it('while PostgreSQL hangs, also at a start, Redis takes callbacks, which are applied afterwards', async () => {
  await start('redis');
  expect(await send(5)).toEqual(all(5, 200));
  deployment.signalDatabase('STOP');
  for (let round = 0; round < 3; round += 1) expect(await send(10)).toEqual(all(10, 200));
  await untilReady(200);
  await restart();
  expect(await send(20)).toEqual(all(20, 200));
  deployment.signalDatabase('CONT');
  await untilApplied(deployment, acknowledged);
});

it('PostgreSQL killed repeatedly under load loses nothing, and each callback is acknowledged', async () => {
  await start('redis');
  const load = keepSending(deployment.url, acknowledged);
  for (let round = 0; round < 3; round += 1) {
    await load.more(50);
    await deployment.killDatabase();
  }
  await load.stop();
  expect(load.refused).toEqual([]);
  await untilApplied(deployment, acknowledged);
});

it('a Redis that hangs, is killed or is flushed delays what it was told, and loses nothing', async () => {
  await start('redis');
  const redis = deployment.redis!;
  redis.signal('SIGSTOP');
  expect(await send(20)).toEqual(all(20, 200));
  redis.signal('SIGCONT');
  await untilApplied(deployment, acknowledged);
  await redis.kill();
  expect(await send(20)).toEqual(all(20, 200));
  await redis.restart();
  const load = keepSending(deployment.url, acknowledged);
  for (let round = 0; round < 3; round += 1) {
    await load.more(50);
    await redis.client().flushall();
  }
  await load.stop();
  await untilApplied(deployment, acknowledged);
});

it('with both stores away callbacks get 503 with Retry-After, until a store is back', async () => {
  await start('redis');
  deployment.redis!.signal('SIGSTOP');
  deployment.signalDatabase('STOP');
  expect(await send(20)).toEqual(all(20, 503));
  const response = await post(deployment.url + paths.receipt, receiptCallback());
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  await untilReady(503);
  deployment.redis!.signal('SIGCONT');
  deployment.signalDatabase('CONT');
  await untilReady(200);
  await until(async () => (await sendReceipt(deployment.url, acknowledged)) === 200);
  await untilApplied(deployment, acknowledged);
});

it('without Redis nothing is acknowledged while PostgreSQL is away, and everything afterwards', async () => {
  await start('postgresql');
  deployment.link.cut();
  expect(await send(20)).toEqual(all(20, 503));
  await untilReady(503);
  await deployment.link.restore();
  await until(async () => (await sendReceipt(deployment.url, acknowledged)) === 200);
  await untilApplied(deployment, acknowledged);
});
