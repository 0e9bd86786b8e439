import { applied, sendUntilAcknowledged } from './sending.ts';
import { type Stage, setStage } from './stage.ts';

jest.setTimeout(180_000);

const stages: Stage[] = [];
afterEach(async () => {
  // The first one has the Redis.
  for (const stage of stages.splice(0).reverse()) await stage.stop();
});

it('deployments that share a Redis write their deliveries into their own databases only', async () => {
  const first = await setStage('redis');
  stages.push(first);
  const redisUrl = first.redis!.url;
  const second = await setStage('redis', { redisUrl });
  stages.push(second);
  const third = await setStage('redis', { redisUrl, env: { QUEUE_PREFIX: 'another' } });
  stages.push(third);

  first.signalDatabase('STOP');
  const [ids, others] = await Promise.all([
    sendUntilAcknowledged(first, 100),
    sendUntilAcknowledged(second, 30),
  ]);
  await applied(second, others);
  first.signalDatabase('CONT');
  await applied(first, ids);
  const held = async (stage: Stage) =>
    new Set((await stage.rows('select id from deliveries')).map(({ id }) => id));
  const foreign = await Promise.all([second, third].map(held));
  expect(foreign.flatMap((set) => ids.filter((id) => set.has(id)))).toEqual([]);
  const own = await held(first);
  expect(others.filter((id) => own.has(id))).toEqual([]);
});
