import type { Redis } from 'ioredis';
import { until } from '../support/until.ts';
import type { Stage } from './stage.ts';

async function withRedis<T>({ redis }: Stage, run: (client: Redis) => Promise<T>): Promise<T | undefined> {
  if (!redis) return undefined;
  const client = redis.client();
  try {
    return await run(client);
  } finally {
    client.disconnect();
  }
}

/** How many deliveries wait to be applied, in PostgreSQL and in Redis. */
export async function countWaiting(stage: Stage): Promise<number> {
  const [row] = await stage.rows(`select count(*)::int as n from deliveries where status = 'received'`);
  return (row!.n as number) + ((await withRedis(stage, countInFallback)) ?? 0);
}

/** How many deliveries a Redis holds for any database. */
export async function countInFallback(redis: Redis): Promise<number> {
  const streams = await redis.keys('*:fallback:*');
  const counts = await Promise.all(streams.map((stream) => redis.xlen(stream)));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** How many jobs the queue holds, in any state. */
export async function countJobs(stage: Stage): Promise<number> {
  // Each job has one key with its number, or with the name that the sweep gave it.
  const keys = await withRedis(stage, (redis) => redis.keys('{receiver}:deliveries-*'));
  if (keys) return keys.filter((key) => /^[^:]+:[^:]+:(\d+|swept-[^:]+)$/.test(key)).length;
  const rows = await until(() =>
    stage.rows('select count(*)::int as n from bullmq.job').catch(() => undefined),
  );
  return rows[0]!.n as number;
}
