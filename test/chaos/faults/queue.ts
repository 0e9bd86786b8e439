import { setTimeout as pause } from 'node:timers/promises';
import type { Fault } from '../faults.ts';
import type { Stage } from '../stage.ts';
import { both } from './away.ts';

const rounds = 10;

/** The keys that BullMQ schedules by, beside its lists of waiting and active jobs. */
const schedule = /:(delayed|marker|repeat.*|stalled|stalled-check|limiter|prioritized|pc)$/;

async function deleteKeys(stage: Stage, choose: (keys: string[]) => string[]): Promise<void> {
  const redis = stage.redis!.client();
  for (let round = 0; round < rounds; round += 1) {
    const chosen = choose((await redis.keys('{receiver}:deliveries-*')).sort());
    if (chosen.length > 0) await redis.del(chosen);
    await pause(200);
  }
  redis.disconnect();
}

async function deleteRows({ rows }: Stage, statements: () => string[]): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (const statement of statements()) await rows(statement);
    await pause(200);
  }
}

/** What an eviction, or an operator who cleans up, takes out of the queue. */
export const queueFaults: Fault[] = [
  {
    name: 'delayed jobs, schedulers and markers deleted',
    backends: both,
    strike: (stage) =>
      stage.redis
        ? deleteKeys(stage, (keys) => keys.filter((key) => schedule.test(key)))
        : deleteRows(stage, () => [
            `delete from bullmq.job where state = 'delayed'`,
            'delete from bullmq.scheduler',
          ]),
  },
  {
    name: 'keys of the queue deleted at random',
    backends: both,
    strike: (stage, random) =>
      stage.redis
        ? deleteKeys(stage, (keys) => keys.filter(() => random.chance(0.3)))
        : deleteRows(stage, () => [
            random.pick([
              'delete from bullmq.job where seq % 3 = 0',
              'delete from bullmq.job',
              `delete from bullmq.job where state = 'active'`,
              'delete from bullmq.meta',
            ]),
          ]),
  },
];
