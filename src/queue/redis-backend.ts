import { once } from 'node:events';
import { Queue, Worker } from 'bullmq';
import { createProcessor, type QueueBackend } from './backend.ts';
import { queueOf } from './displace-keys.ts';
import { createFallbackStream, type FallbackStreamOptions } from './fallback-stream.ts';
import { connectRedis, type RedisClient } from './redis.ts';

/** Short outages change nothing: the jobs wait in Redis. */
const unavailableMs = 10_000;

/** The prefix of all keys in Redis. */
export const keyPrefix = (prefix: string) => `{${prefix}}`;

/**
 * The queue of one database in Redis. Each database that uses this Redis has its own queue.
 *
 * @param options `url`: REDIS_URL; `prefix`: QUEUE_PREFIX
 */
export function redisBackend({
  url,
  ...options
}: Omit<FallbackStreamOptions, 'redis'> & { url: string }): QueueBackend {
  const prefix = keyPrefix(options.prefix);
  const producer = connectRedis(url, 'producer', options.timeoutMs);
  const consumer = connectRedis(url, 'consumer');
  // A separate connection, because WAITAOF blocks all later commands of its connection.
  const redis = connectRedis(url, 'producer', options.timeoutMs);
  const fallback = createFallbackStream({ ...options, prefix, redis });
  const { circuit } = fallback;
  const clients = [producer, consumer, redis];
  for (const client of clients) client.on('error', (error) => void circuit.probeAfter(error));
  /** Resolves with the queue's name once these are connected: BullMQ does not recover from a failed first look. */
  const untilReady = async (signal: AbortSignal, ...needed: RedisClient[]): Promise<string> => {
    signal.throwIfAborted();
    const aborted = once(signal, 'abort').then(() => Promise.reject(signal.reason));
    const id = await Promise.race([options.databaseId, aborted]);
    for (const client of needed) {
      while (client.status !== 'ready') {
        // After an error the client reconnects.
        await once(client, 'ready', { signal }).catch(() => signal.throwIfAborted());
      }
    }
    return queueOf(id);
  };
  return {
    name: 'redis',
    circuit,
    fallback,
    findObstacle: async () => {
      const since = circuit.isOpen ? circuit.unavailableSince : undefined;
      return since && Date.now() - since.getTime() > unavailableMs ? 'Redis is unavailable' : undefined;
    },
    openQueue: async (queueOptions, signal) => {
      // An open queue means that the fallback is connected, too.
      const name = await untilReady(signal, producer, redis);
      return new Queue(name, { ...queueOptions, prefix, connection: producer, skipWaitingForReady: true });
    },
    openWorker: async (apply, workerOptions, signal) => {
      const name = await untilReady(signal, consumer);
      const all = { ...workerOptions, prefix, connection: consumer, autorun: false };
      return new Worker(name, createProcessor(apply), all);
    },
    close: async () => {
      circuit.stop();
      for (const client of clients) client.disconnect();
    },
  };
}
