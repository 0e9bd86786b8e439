import { Redis } from 'ioredis';
import { timeLimits } from '../common/time-limits.ts';

export type RedisClient = Redis;

/** The time limit of opening a connection to Redis. */
export const connectTimeoutMs = 2_000;

// By the use of a connection. A producer fails at once while Redis is unavailable, because a request waits for it. A consumer
// waits until Redis is available again. Without a time limit on the socket, a link that was cut for a minute would be used again only up to a minute after its
// repair: when TCP sends once more what it has not got through. BullMQ's worker blocks for up to 10 s.
const optionsFor = {
  producer: (commandTimeout: number) => ({
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
    commandTimeout,
    socketTimeout: commandTimeout,
  }),
  consumer: () => ({ maxRetriesPerRequest: null, enableOfflineQueue: true, socketTimeout: 15_000 }),
};

/** The time limit of a command: more than that of a commit, whose confirmation it waits for. */
const commandMs = (commitMs: number) => 1.5 * commitMs;

const retryStrategy = (attempt: number) => Math.min(attempt * 100, 2_000);

/**
 * A client for REDIS_URL that reconnects whenever the connection ends.
 *
 * @param timeoutMs of a commit
 */
export function connectRedis(
  url: string,
  use: keyof typeof optionsFor,
  timeoutMs = timeLimits().redisMs,
): RedisClient {
  const options = optionsFor[use](commandMs(timeoutMs));
  return new Redis(url, { ...options, connectTimeout: connectTimeoutMs, retryStrategy });
}
