import { type Deployment, startDeployment } from './deployment.ts';
import { sendUntilAcknowledged, untilApplied } from './sending.ts';

const deployments: Deployment[] = [];
afterEach(async () => {
  // The first one owns the Redis.
  for (const deployment of deployments.splice(0).reverse()) await deployment.stop();
});

it('deployments that share a Redis write their deliveries to their own databases only', async () => {
  const first = await startDeployment('redis');
  deployments.push(first);
  const redisUrl = first.redis!.url;
  const second = await startDeployment('redis', { redisUrl });
  deployments.push(second);
  const third = await startDeployment('redis', { redisUrl, env: { QUEUE_PREFIX: 'another' } });
  deployments.push(third);

  first.signalDatabase('STOP');
  const [ids, others] = await Promise.all([
    sendUntilAcknowledged(first, 100),
    sendUntilAcknowledged(second, 30),
  ]);
  await untilApplied(second, others);
  first.signalDatabase('CONT');
  await untilApplied(first, ids);
  const storedIds = async (deployment: Deployment) =>
    new Set((await deployment.rows('select id from deliveries')).map(({ id }) => id));
  const foreign = await Promise.all([second, third].map(storedIds));
  expect(foreign.flatMap((set) => ids.filter((id) => set.has(id)))).toEqual([]);
  const own = await storedIds(first);
  expect(others.filter((id) => own.has(id))).toEqual([]);
});
