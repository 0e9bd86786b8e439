import { randomUUID } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import type { Alert } from './alert.ts';
import type { AlertStore } from './alert-store.ts';

/** A pass takes less time: a channel has ten seconds. */
const lockMs = 60_000;

const unlock = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end`;

/**
 * The alerts of an outage of PostgreSQL: in Redis, so that processes send one message; without Redis in the memory of this
 * process, so that each sends its own.
 *
 * @param key of Redis, with its prefix
 */
export function outageStore(redis: Redis | Cluster | undefined, key: string): AlertStore {
  /** What this process saw last: a Redis that was away may have lost it. */
  let known: readonly Alert[] = [];
  /** Whether Redis has not got what is known. */
  let isAhead = false;
  const lock = `${key}:lock`;
  return {
    exclusively: async (run) => {
      const id = randomUUID();
      const locked = await redis?.set(lock, id, 'PX', lockMs, 'NX').catch(() => undefined);
      if (locked === null) return; // another process has it
      try {
        const text = locked && (await redis!.get(key).catch(() => undefined));
        if (text && !isAhead) known = JSON.parse(text);
        const save = async (alerts: readonly Alert[]) => {
          known = alerts;
          const saved = await redis?.set(key, JSON.stringify(alerts)).catch(() => undefined);
          isAhead = saved === undefined;
        };
        await run({ alerts: known, now: Date.now(), save });
      } finally {
        if (locked) await redis!.eval(unlock, 1, lock, id).catch(() => {});
      }
    },
  };
}
