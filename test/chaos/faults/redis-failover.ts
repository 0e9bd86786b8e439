import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../../src/sandbox/random.ts';
import { until } from '../../support/until.ts';
import { countInFallback } from '../counts.ts';
import type { Deployment } from '../deployment.ts';
import type { Fault } from '../faults.ts';
import { makeDatabaseUnavailable } from './outages.ts';

/** What is wrong between the primary and its replica before the primary is gone; returns a function that ends it. */
const before: Record<string, (deployment: Deployment, random: Random) => Promise<() => Promise<void>>> = {
  'its replica promoted': async () => async () => {},
  'its replica, cut off before, promoted': async ({ replicatedRedis }, random) => {
    const { link } = replicatedRedis!;
    link.cut();
    await pause(random.between(1_000, 3_000));
    return async () => {};
  },
  'its replica, behind by some data, promoted': async ({ replicatedRedis }, random) => {
    const { link } = replicatedRedis!;
    link.set({ stalled: 'there' });
    await pause(random.between(1_000, 3_000));
    return async () => link.set({});
  },
};

async function failOver(
  disturb: (typeof before)[string],
  deployment: Deployment,
  random: Random,
): Promise<void> {
  const { replicatedRedis } = deployment;
  const restore = makeDatabaseUnavailable(deployment, random);
  try {
    await pause(random.between(1_500, 3_000)); // some are acknowledged from Redis
    const end = await disturb(deployment, random);
    await deployment.failOverRedis();
    await end();
    await pause(random.between(500, 2_000));
  } finally {
    await restore();
  }
  // The former primary gets the data of the new one, which must have a replica again before the next fail-over.
  await until(
    async () => {
      const client = replicatedRedis!.primary.client();
      return countInFallback(client)
        .then((count) => count === 0)
        .finally(() => client.disconnect());
    },
    60_000,
    100,
  );
  await replicatedRedis!.rejoin();
}

/** While PostgreSQL is away, the primary of Redis is lost, and its replica is promoted. */
export const redisFailoverFaults: Fault[] = Object.entries(before).map(([name, disturb]) => ({
  name: `PostgreSQL away, the primary of Redis killed, and ${name}`,
  backends: ['redis'],
  deployment: { redisReplica: true },
  inject: (deployment, random) => failOver(disturb, deployment, random),
}));
