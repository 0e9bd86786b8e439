import { once } from 'node:events';
import { Queue, Worker } from 'bullmq';
import type { CircuitDependencies } from '../store/circuits.ts';
import { type QueueBackend, queueName } from './backend.ts';
import { FallbackStream } from './fallback-stream.ts';
import { connectRedis, type RedisClient } from './redis.ts';

export interface RedisBackendOptions {
  /** REDIS_URL, see `connectRedis`. */
  url: string;
  /** QUEUE_PREFIX. */
  prefix: string;
  databaseUrl: string;
  /** The id of the database whose deliveries are queued. */
  databaseId: Promise<string>;
}

/** The key prefix of everything in Redis: in braces, so that a Redis Cluster keeps it on one node. */
export const keyPrefix = (prefix: string) => `{${prefix}}`;

/** The queue of one database in Redis. Databases that share a Redis have queues of their own. */
export function redisBackend(options: RedisBackendOptions, reporting: CircuitDependencies): QueueBackend {
  const { url, databaseUrl, databaseId } = options;
  const prefix = keyPrefix(options.prefix);
  const connections = {
    producer: connectRedis(url, 'producer'),
    consumer: connectRedis(url, 'consumer'),
    // Of its own, because a connection that waits for the disk holds up everything behind it.
    fallback: connectRedis(url, 'producer'),
  };
  const redis = connections.fallback;
  const fallback = new FallbackStream({ redis, prefix, databaseUrl, databaseId, ...reporting });
  const { circuit } = fallback;
  for (const client of Object.values(connections)) {
    client.on('error', (error) => void circuit.suspect(error));
  }
  const name = async () => `${queueName}-${(await databaseId).slice(0, 8)}`;
  return {
    name: 'redis',
    circuit,
    fallback,
    openQueue: async (queueOptions, signal) => {
      const connection = connections.producer;
      const queue = await untilAborted(name(), signal);
      // BullMQ never forgets that its first look at the server failed; and who waits for the queue to open finds the
      // fallback there too.
      for (const client of [connection, connections.fallback]) await untilReady(client, signal);
      return new Queue(queue, { ...queueOptions, prefix, connection, skipWaitingForReady: true });
    },
    openWorker: async (process, workerOptions, signal) => {
      const connection = connections.consumer;
      const queue = await untilAborted(name(), signal);
      await untilReady(connection, signal);
      return new Worker(queue, process, { ...workerOptions, prefix, connection, autorun: false });
    },
    close: async () => {
      circuit.close();
      for (const client of Object.values(connections)) client.disconnect();
    },
  };
}

async function untilReady(client: RedisClient, signal: AbortSignal): Promise<void> {
  while (client.status !== 'ready') {
    // An error is not the end: the client tries again.
    await once(client, 'ready', { signal }).catch(() => signal.throwIfAborted());
  }
}

async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = new Promise<never>((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  );
  return Promise.race([promise, aborted]);
}
