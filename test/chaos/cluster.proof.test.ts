import { until } from '../support/until.ts';
import { countInFallback } from './counts.ts';
import { type Deployment, startDeployment } from './deployment.ts';
import { type RedisCluster, startRedisCluster, watchCommands } from './redis-cluster.ts';
import { send, sendUntilAcknowledged, untilApplied } from './sending.ts';

let deployment: Deployment | undefined;
let cluster: RedisCluster;
afterEach(async () => {
  await deployment?.stop();
  deployment = undefined;
  await cluster.stop();
});

it('in a Redis Cluster, the node of the fallback stream confirms its entries and reports its settings', async () => {
  cluster = await startRedisCluster(['--appendonly', 'no']);
  const owner = await cluster.nodeOf('{receiver}:databases');
  await owner.client().config('SET', 'appendonly', 'yes');
  await owner.client().config('SET', 'appendfsync', 'always');
  const watched = await Promise.all(
    cluster.nodes.map(async (node) => ({ node, ...(await watchCommands(node)) })),
  );
  deployment = await startDeployment('redis', { redisUrl: cluster.url });
  await untilApplied(deployment, [(await send(deployment)).id]);

  deployment.signalDatabase('STOP');
  const ids = await sendUntilAcknowledged(deployment, 50);
  const readiness = await deployment.readiness();
  expect(readiness.fallback!.detail).toMatch(/^(appendfsync is always|each waits for the disk \(WAITAOF\))$/);
  expect(await countInFallback(owner.client())).toBeGreaterThanOrEqual(50);
  const countRequests = (commands: string[]) =>
    commands.filter((one) => /^(config get|waitaof|xadd)/.test(one)).length;
  for (const { node, seen, end } of watched) {
    end();
    if (node === owner) expect(countRequests(seen)).toBeGreaterThan(50);
    else expect(countRequests(seen)).toBe(0);
  }

  deployment.signalDatabase('CONT');
  await untilApplied(deployment, ids);
  await until(async () => (await countInFallback(owner.client())) === 0);
});
