import { until } from '../support/until.ts';
import { type RedisCluster, startRedisCluster, watchCommands } from './redis-cluster.ts';
import { applied, send, sendUntilAcknowledged } from './sending.ts';
import { type Stage, setStage } from './stage.ts';
import { countInFallback } from './stores.ts';

jest.setTimeout(180_000);

let stage: Stage | undefined;
let cluster: RedisCluster;
afterEach(async () => {
  await stage?.stop();
  stage = undefined;
  await cluster.stop();
});

it('in a Redis Cluster, the node that holds what waits for PostgreSQL is the one that vouches for it', async () => {
  cluster = await startRedisCluster(['--appendonly', 'no']);
  const owner = await cluster.nodeOf('{receiver}:databases');
  await owner.client().config('SET', 'appendonly', 'yes');
  await owner.client().config('SET', 'appendfsync', 'always');
  const watched = await Promise.all(
    cluster.nodes.map(async (node) => ({ node, ...(await watchCommands(node)) })),
  );
  stage = await setStage('redis', { redisUrl: cluster.url });
  await applied(stage, [(await send(stage)).id]);

  stage.signalDatabase('STOP');
  const ids = await sendUntilAcknowledged(stage, 50);
  const parts = await stage.parts();
  expect(parts.fallback!.detail).toMatch(/^(appendfsync is always|each waits for the disk \(WAITAOF\))$/);
  expect(await countInFallback(owner.client())).toBeGreaterThanOrEqual(50);
  const asked = (commands: string[]) =>
    commands.filter((one) => /^(config get|waitaof|xadd)/.test(one)).length;
  for (const { node, seen, end } of watched) {
    end();
    if (node === owner) expect(asked(seen)).toBeGreaterThan(50);
    else expect(asked(seen)).toBe(0);
  }

  stage.signalDatabase('CONT');
  await applied(stage, ids);
  await until(async () => (await countInFallback(owner.client())) === 0);
});
