import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Random } from '../../../src/sandbox/random.ts';
import { until } from '../../support/until.ts';
import { countInFallback } from '../counts.ts';
import type { Deployment } from '../deployment.ts';
import type { Fault } from '../faults.ts';
import { PromiseBroken, type Run } from '../run-fault.ts';
import { longMs, makeDatabaseUnavailable } from './outages.ts';

/** A change after which Redis may lose what it takes. */
interface Change {
  name: string;
  make: (redis: Redis) => Promise<unknown>;
  undo: (redis: Redis) => Promise<unknown>;
  /** Whether it is made while PostgreSQL is still there, and nothing waits in Redis. */
  isBefore?: boolean;
  /** While the change lasts and PostgreSQL is away. */
  meanwhile?: (redis: Redis) => Promise<unknown>;
  /** Whether a Redis where it was made proves each commit by itself, so that it may acknowledge. */
  mayAcknowledge?: boolean;
  isKilled?: boolean;
}

const [mebibyte, aboveUse] = [2 ** 20, 2 * 2 ** 20];

const usedMemory = async (redis: Redis) => Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))![1]);

const evict = (policy: string) => async (redis: Redis) => {
  await redis.config('SET', 'maxmemory', String((await usedMemory(redis)) + aboveUse));
  await redis.config('SET', 'maxmemory-policy', policy);
};

async function evictNothing(redis: Redis): Promise<void> {
  await redis.config('SET', 'maxmemory-policy', 'noeviction');
  await redis.config('SET', 'maxmemory', '0');
}

/** Data of others, for which Redis evicts what it has. */
async function writeOtherData(redis: Redis): Promise<void> {
  for (let key = 0; key < 60; key += 1) await redis.set(`others:${key}`, Buffer.alloc(mebibyte / 4, 'x'));
}

async function forbidConfig(redis: Redis): Promise<void> {
  await redis.call('ACL', 'SETUSER', 'default', '-config');
}

const permitConfig = (redis: Redis) => redis.call('ACL', 'SETUSER', 'default', '+config');

const changes: Change[] = [
  {
    name: 'maxmemory-policy allkeys-lru, and little memory',
    make: evict('allkeys-lru'),
    undo: evictNothing,
  },
  {
    name: 'maxmemory-policy allkeys-random before, and data of others',
    make: evict('allkeys-random'),
    undo: async (redis) => {
      await evictNothing(redis);
      const keys = await redis.keys('others:*');
      if (keys.length > 0) await redis.del(keys);
    },
    isBefore: true,
    meanwhile: writeOtherData,
  },
  {
    name: 'appendonly no, and killed',
    make: (redis) => redis.config('SET', 'appendonly', 'no'),
    undo: (redis) => redis.config('SET', 'appendonly', 'yes'),
    isKilled: true,
  },
  {
    name: 'appendfsync no',
    make: (redis) => redis.config('SET', 'appendfsync', 'no'),
    undo: (redis) => redis.config('SET', 'appendfsync', 'always'),
  },
  { name: 'CONFIG forbidden', make: forbidConfig, undo: permitConfig, mayAcknowledge: true },
  {
    name: 'CONFIG forbidden, appendonly no, and killed',
    make: async (redis) => {
      await forbidConfig(redis);
      await redis.config('SET', 'appendonly', 'no');
    },
    undo: async (redis) => {
      await permitConfig(redis);
      await redis.config('SET', 'appendonly', 'yes');
    },
    isKilled: true,
  },
];

/** A client whose user keeps all permissions, until it is disconnected. */
async function openAdministrator({ redis }: Deployment): Promise<Redis> {
  const client = redis!.client();
  await client.call('ACL', 'SETUSER', 'administrator', 'on', 'nopass', '~*', '&*', '+@all');
  client.disconnect();
  return new Redis(redis!.port, { username: 'administrator', password: 'any' });
}

async function withAdministrator<T>(deployment: Deployment, run: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = await openAdministrator(deployment);
  try {
    return await run(redis);
  } finally {
    redis.disconnect();
  }
}

/** What is under way at a change may be acknowledged; afterwards nothing may. */
async function expectNoAcknowledgements(run: Run, change: string): Promise<void> {
  await pause(longMs / 2);
  const before = run.acknowledged();
  await pause(longMs / 2);
  const count = run.acknowledged() - before;
  if (count > 0)
    throw new PromiseBroken(
      `${count} callbacks were acknowledged from a Redis that may lose them: ${change}`,
    );
}

async function kill({ redis }: Deployment): Promise<void> {
  const { process } = redis!;
  const ended = once(process, 'exit');
  process.kill('SIGKILL');
  await ended;
  await redis!.restart();
}

async function duringChange(change: Change, deployment: Deployment, random: Random, run: Run): Promise<void> {
  const { name, make, undo, isBefore = false, meanwhile, mayAcknowledge = false, isKilled = false } = change;
  const isUndoneFirst = random.chance(0.5);
  // What waits in Redis before such a change, nobody can save.
  if (isBefore)
    await until(
      () => withAdministrator(deployment, async (redis) => !(await countInFallback(redis))),
      60_000,
    );
  if (isBefore) await withAdministrator(deployment, make);
  const restore = makeDatabaseUnavailable(deployment, random);
  try {
    await pause(random.between(1_000, 2_000)); // the first are acknowledged from Redis
    if (!isBefore) await withAdministrator(deployment, make);
    try {
      const checking = mayAcknowledge ? pause(longMs) : expectNoAcknowledgements(run, name);
      await Promise.all([checking, meanwhile && withAdministrator(deployment, meanwhile)]);
    } finally {
      if (isKilled) await kill(deployment);
      if (isUndoneFirst) await withAdministrator(deployment, undo);
    }
    await pause(random.between(200, 1_000));
  } finally {
    await restore();
    if (!isUndoneFirst) {
      await pause(random.between(500, 2_000));
      await withAdministrator(deployment, undo);
    }
  }
}

/** While PostgreSQL is away, somebody changes Redis so that it may lose what it takes: it acknowledges nothing then. */
export const redisSettingFaults: Fault[] = changes.map((change) => ({
  name: `PostgreSQL away, and Redis: ${change.name}`,
  backends: ['redis'],
  inject: (deployment, random, run) => duringChange(change, deployment, random, run),
}));
