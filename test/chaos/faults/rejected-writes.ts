import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Random } from '../../../src/sandbox/random.ts';
import type { TestRedis } from '../../support/redis.ts';
import { until } from '../../support/until.ts';
import type { Fault } from '../faults.ts';
import { makeDatabaseUnavailable } from './outages.ts';

/** A cause for which an available Redis rejects writes. */
interface Cause {
  error: string;
  reject: (redis: Redis, server: TestRedis) => Promise<unknown>;
  allow: (redis: Redis, server: TestRedis) => Promise<unknown>;
}

// No file can be renamed to a folder, not even by root: so a folder makes snapshots fail.
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

const causes: Cause[] = [
  {
    error: 'NOREPLICAS',
    reject: (redis) => redis.config('SET', 'min-replicas-to-write', '1'),
    allow: (redis) => redis.config('SET', 'min-replicas-to-write', '0'),
  },
  {
    error: 'READONLY',
    reject: (redis) => redis.replicaof('127.0.0.1', 1), // where no server listens
    allow: (redis) => redis.replicaof('NO', 'ONE'),
  },
  { error: 'MISCONF', reject: failToSave, allow: saveAgain },
  {
    error: 'OOM',
    reject: (redis) => redis.config('SET', 'maxmemory', '1'),
    allow: (redis) => redis.config('SET', 'maxmemory', '0'),
  },
];

/** Makes Redis reject writes and accept them again, three times. */
async function toggle({ reject, allow }: Cause, server: TestRedis, random: Random): Promise<void> {
  const redis = server.client();
  for (let times = 0; times < 3; times += 1) {
    await reject(redis, server);
    try {
      await pause(random.between(200, 1_000));
    } finally {
      await allow(redis, server);
    }
    await pause(random.between(100, 600));
  }
  redis.disconnect();
}

/** Redis rejects writes repeatedly, first while PostgreSQL is available, then while it is not. */
export const rejectedWriteFaults: Fault[] = causes.map((cause) => ({
  name: `Redis rejects writes: ${cause.error}`,
  backends: ['redis'],
  inject: async (deployment, random) => {
    await toggle(cause, deployment.redis!, random);
    const restore = makeDatabaseUnavailable(deployment, random);
    try {
      await toggle(cause, deployment.redis!, random);
    } finally {
      await restore();
    }
  },
}));
