import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Random } from '../../../src/sandbox/random.ts';
import type { TestRedis } from '../../support/redis.ts';
import { until } from '../../support/until.ts';
import type { Fault } from '../faults.ts';
import { takeDatabaseAway } from './away.ts';

/** A way in which a Redis that answers refuses to be written to. */
interface Refusal {
  error: string;
  refuse: (redis: Redis, server: TestRedis) => Promise<unknown>;
  allow: (redis: Redis, server: TestRedis) => Promise<unknown>;
}

// Nothing can be renamed to a folder, root's files included.
const snapshotFile = ({ folder }: TestRedis) => join(folder, 'dump.rdb');

async function failToSave(redis: Redis, server: TestRedis): Promise<void> {
  mkdirSync(snapshotFile(server));
  await redis.config('SET', 'save', '3600 1000000');
  await redis.bgsave();
  await until(async () => (await redis.info('persistence')).includes('rdb_last_bgsave_status:err'));
}

async function saveAgain(redis: Redis, server: TestRedis): Promise<void> {
  rmdirSync(snapshotFile(server));
  await redis.config('SET', 'save', '');
}

const refusals: Refusal[] = [
  {
    error: 'NOREPLICAS',
    refuse: (redis) => redis.config('SET', 'min-replicas-to-write', '1'),
    allow: (redis) => redis.config('SET', 'min-replicas-to-write', '0'),
  },
  {
    error: 'READONLY',
    refuse: (redis) => redis.replicaof('127.0.0.1', 1), // where nobody is
    allow: (redis) => redis.replicaof('NO', 'ONE'),
  },
  { error: 'MISCONF', refuse: failToSave, allow: saveAgain },
  {
    error: 'OOM',
    refuse: (redis) => redis.config('SET', 'maxmemory', '1'),
    allow: (redis) => redis.config('SET', 'maxmemory', '0'),
  },
];

/** Lets Redis refuse writes and take them again, a few times. */
async function toggle({ refuse, allow }: Refusal, server: TestRedis, random: Random): Promise<void> {
  const redis = server.client();
  for (let times = 0; times < 3; times += 1) {
    await refuse(redis, server);
    try {
      await pause(random.between(200, 1_000));
    } finally {
      await allow(redis, server);
    }
    await pause(random.between(100, 600));
  }
  redis.disconnect();
}

/** Redis refuses writes now and then, at first while PostgreSQL is there, and then while it is away. */
export const refusalFaults: Fault[] = refusals.map((refusal) => ({
  name: `Redis refuses writes: ${refusal.error}`,
  backends: ['redis'],
  strike: async (stage, random) => {
    await toggle(refusal, stage.redis!, random);
    const bringBack = takeDatabaseAway(stage, random);
    try {
      await toggle(refusal, stage.redis!, random);
    } finally {
      await bringBack();
    }
  },
}));
