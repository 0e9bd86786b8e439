import { setTimeout as pause } from 'node:timers/promises';
import type { Deployment } from '../deployment.ts';
import type { Fault } from '../faults.ts';
import { both } from './outages.ts';

const rounds = 10;

/** BullMQ's keys for scheduling, without its lists of waiting and active jobs. */
const schedule = /:(delayed|marker|repeat.*|stalled|stalled-check|limiter|prioritized|pc)$/;

async function deleteKeys(deployment: Deployment, choose: (keys: string[]) => string[]): Promise<void> {
  const redis = deployment.redis!.client();
  for (let round = 0; round < rounds; round += 1) {
    const chosen = choose((await redis.keys('{receiver}:deliveries-*')).sort());
    if (chosen.length > 0) await redis.del(chosen);
    await pause(200);
  }
  redis.disconnect();
}

async function deleteRows({ rows }: Deployment, statements: () => string[]): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (const statement of statements()) await rows(statement);
    await pause(200);
  }
}

/** Deletes parts of the queue, as an eviction or an operator might. */
export const queueFaults: Fault[] = [
  {
    name: 'delayed jobs, schedulers and markers deleted',
    backends: both,
    inject: (deployment) =>
      deployment.redis
        ? deleteKeys(deployment, (keys) => keys.filter((key) => schedule.test(key)))
        : deleteRows(deployment, () => [
            `delete from bullmq.job where state = 'delayed'`,
            'delete from bullmq.scheduler',
          ]),
  },
  {
    name: 'keys of the queue deleted at random',
    backends: both,
    inject: (deployment, random) =>
      deployment.redis
        ? deleteKeys(deployment, (keys) => keys.filter(() => random.chance(0.3)))
        : deleteRows(deployment, () => [
            random.pick([
              'delete from bullmq.job where seq % 3 = 0',
              'delete from bullmq.job',
              `delete from bullmq.job where state = 'active'`,
              'delete from bullmq.meta',
            ]),
          ]),
  },
];
