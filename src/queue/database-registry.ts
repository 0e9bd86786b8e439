import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisClient } from './redis.ts';

const registerEveryMs = 10_000;
const retryMs = 1_000;
// After this time without a process that registers it, a database no longer has its address.
const expiresAfterS = 300;

/**
 * The databases that each address leads to, stored in Redis: a sorted set of `<address> <database id>`, by time.
 *
 * An address is a hash of a database's URL without name and password.
 *
 * @param key of the sorted set
 */
export function createDatabaseRegistry(redis: RedisClient, key: string) {
  const readTime = async () => Number((await redis.time())[0]);
  return {
    /** Keeps a database registered under its address until the connection to Redis is closed. */
    keepRegistered: async (address: string, databaseId: string): Promise<void> => {
      while (redis.status !== 'end') {
        try {
          const now = await readTime();
          await redis.zadd(key, now, `${address} ${databaseId}`);
          await redis.zremrangebyscore(key, '-inf', now - expiresAfterS);
          await sleep(registerEveryMs, undefined, { ref: false });
        } catch {
          // The circuit of Redis reports the outage.
          await sleep(retryMs, undefined, { ref: false });
        }
      }
    },
    /** Database ids by address. */
    read: async (): Promise<Map<string, Set<string>>> => {
      const entries = await redis.zrangebyscore(key, (await readTime()) - expiresAfterS, '+inf');
      const databases = new Map<string, Set<string>>();
      for (const entry of entries) {
        const [address, id] = entry.split(' ') as [string, string];
        databases.set(address, (databases.get(address) ?? new Set()).add(id));
      }
      return databases;
    },
  };
}

export function hashAddress(databaseUrl: string): string {
  const address = databaseUrl.replace(/\/\/.*@/, '//');
  return createHash('sha256').update(address).digest('hex').slice(0, 32);
}
