import { seededRandom } from '../../src/sandbox/random.ts';
import { type Backend, type Deployment, startDeployment } from '../chaos/deployment.ts';
import { createHistories } from '../chaos/histories.ts';
import { startLoad } from '../chaos/load.ts';
import { paths, samples } from '../support/callbacks.ts';
import { post } from '../support/service.ts';
import { until } from '../support/until.ts';

let deployment: Deployment;
let histories: ReturnType<typeof createHistories>;
beforeEach(() => {
  histories = createHistories(seededRandom(Number(process.env.TEST_SEED)));
});
afterEach(() => deployment.stop());

const start = async (backend: Backend) => {
  deployment = await startDeployment(backend);
};
const keepSending = () => startLoad(() => [deployment.url], histories, 10);
/** Sends some callbacks, each of which is acknowledged at once. */
const send = async () => expect(await keepSending().stop()).toMatchObject({ blamed: [], unanswered: 0 });
const untilApplied = () => histories.expectMerged(deployment.rows);
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
  await send();
  deployment.signalDatabase('STOP');
  for (let round = 0; round < 3; round += 1) await send();
  await untilReady(200);
  await restart();
  await send();
  deployment.signalDatabase('CONT');
  await untilApplied();
});

it('PostgreSQL killed repeatedly under load loses nothing, and each callback is acknowledged', async () => {
  await start('redis');
  const load = keepSending();
  for (let round = 0; round < 3; round += 1) {
    await load.more(50);
    await deployment.killDatabase();
  }
  expect(await load.stop()).toMatchObject({ blamed: [], unanswered: 0 });
  await untilApplied();
});

it('a Redis that hangs, is killed or is flushed delays what it was told, and loses nothing', async () => {
  await start('redis');
  const redis = deployment.redis!;
  redis.signal('SIGSTOP');
  await send();
  redis.signal('SIGCONT');
  await untilApplied();
  await redis.kill();
  await send();
  await redis.restart();
  const load = keepSending();
  for (let round = 0; round < 3; round += 1) {
    await load.more(50);
    await redis.client().flushall();
  }
  await load.stop();
  await untilApplied();
});

it('with both stores away callbacks get 503 with Retry-After, until a store is back', async () => {
  await start('redis');
  deployment.redis!.signal('SIGSTOP');
  deployment.signalDatabase('STOP');
  const load = keepSending();
  const response = await post(deployment.url + paths.review_request, samples.review_request());
  expect([response.status, Number(response.headers.get('retry-after')) > 0]).toEqual([503, true]);
  await untilReady(503);
  await until(() => load.unanswered() >= 20);
  expect(load.acknowledged()).toBe(0);
  deployment.redis!.signal('SIGCONT');
  deployment.signalDatabase('CONT');
  await untilReady(200);
  expect(await load.stop()).toMatchObject({ blamed: [] });
  await untilApplied();
});

it('without Redis nothing is acknowledged while PostgreSQL is away, and everything afterwards', async () => {
  await start('postgresql');
  deployment.link.cut();
  expect((await post(deployment.url + paths.review_request, samples.review_request())).status).toBe(503);
  const load = keepSending();
  await untilReady(503);
  await until(() => load.unanswered() >= 20);
  expect(load.acknowledged()).toBe(0);
  await deployment.link.restore();
  expect(await load.stop()).toMatchObject({ blamed: [] });
  await untilApplied();
});
