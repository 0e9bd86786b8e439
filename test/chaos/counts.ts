import type { Redis } from 'ioredis';
import { until } from '../support/until.ts';
import type { Deployment } from './deployment.ts';

type Stores = Pick<Deployment, 'redis' | 'rows'>;

async function withRedis<T>({ redis }: Stores, run: (client: Redis) => Promise<T>): Promise<T | undefined> {
  if (!redis) return undefined;
  const client = redis.client();
  try {
    return await run(client);
  } finally {
    client.disconnect();
  }
}

/** The deliveries that wait to be applied, in PostgreSQL and in Redis. */
export async function countWaiting(deployment: Stores): Promise<number> {
  const [row] = await deployment.rows(`select count(*)::int as n from deliveries where status = 'received'`);
  return (row!.n as number) + ((await withRedis(deployment, countInFallback)) ?? 0);
}

/** The deliveries in the fallback streams of a Redis, for any database. */
export async function countInFallback(redis: Redis): Promise<number> {
  const streams = await redis.keys('*:fallback:*');
  const counts = await Promise.all(streams.map((stream) => redis.xlen(stream)));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** The jobs of the queue, in any state. */
export async function countJobs(deployment: Stores): Promise<number> {
  // Each job has one key with its number, or with its id from the sweep.
  const keys = await withRedis(deployment, (redis) => redis.keys('{receiver}:deliveries-*'));
  if (keys) return keys.filter((key) => /^[^:]+:[^:]+:(\d+|swept-[^:]+)$/.test(key)).length;
  const rows = await until(() =>
    deployment.rows('select count(*)::int as n from bullmq.job').catch(() => undefined),
  );
  return rows[0]!.n as number;
}
