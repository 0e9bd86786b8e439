import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { lateS } from '../health/processing.ts';
import { adviceOnRival, describeUndrained } from '../health/undrained.ts';
import { withRedis } from '../queue/check-redis.ts';
import { hashAddress } from '../queue/database-registry.ts';
import { endOf, isSameDatabase, leaseKey, parseHolder, readOwn } from '../queue/drain-lease.ts';
import { streamKey } from '../queue/fallback-stream.ts';
import { keyPrefix } from '../queue/redis-backend.ts';
import { readId } from '../service/prepare-database.ts';
import type { DatabaseCheck } from './tables.ts';

/** A worker that drains takes the oldest deliveries within this time. */
const drainMs = 2_000;

/** Whether another database with the same identity, such as a copy, has what waits in Redis drained into it. */
export const checkLease: DatabaseCheck = async ({ db }, report, { config }) => {
  if (!config.redisUrl) return;
  const [own, id] = [await readOwn(db), await readId(db)];
  const key = leaseKey(keyPrefix(config.queuePrefix), id);
  const read = (client: Redis) => Promise.all([client.get(key), client.pttl(key)]);
  const [held, leftMs] = await withRedis(config.redisUrl, read).catch(() => [null, 0] as const); // see checkRedis
  const holder = parseHolder(held);
  if (!holder || isSameDatabase(holder, own)) return;
  const drainsAt = endOf(leftMs);
  report(
    'fail',
    'identity',
    `another database has the same identity, and deliveries in Redis are drained into that: ${holder.server}. This is ` +
      `${own.server}. ${
        drainsAt
          ? `That ${adviceOnRival(drainsAt)}`
          : 'Unless it was restored in place of the other, set QUEUE_PREFIX or another REDIS_URL'
      }`,
  );
};

/** Deliveries that stay in Redis although PostgreSQL is available. */
export const checkFallback: DatabaseCheck = async ({ db }, report, { config }) => {
  const { redisUrl, databaseUrl } = config;
  if (!redisUrl) return;
  const prefix = keyPrefix(config.queuePrefix);
  const names = [await readId(db), ...(databaseUrl ? [hashAddress(databaseUrl)] : [])];
  const streams = names.map((name) => streamKey(prefix, name));
  for (const stream of streams) {
    const read = () => withRedis(redisUrl, (client) => readStream(client, stream)).catch(() => undefined); // see checkRedis
    const before = await read();
    if (!before || Date.now() - before.oldest.getTime() < lateS * 1000) continue;
    await sleep(drainMs);
    const { count, oldest } = (await read()) ?? before;
    if (oldest.getTime() !== before.oldest.getTime()) continue;
    const { title, detail } = describeUndrained(count, oldest);
    report('fail', 'fallback', `${title}. ${detail}`);
  }
};

async function readStream(client: Redis, stream: string) {
  const [first] = await client.xrange(stream, '-', '+', 'COUNT', 1);
  return first && { count: await client.xlen(stream), oldest: new Date(Number.parseInt(first[0], 10)) };
}
