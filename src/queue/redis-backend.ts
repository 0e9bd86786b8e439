import { once } from 'node:events';
import { Queue, Worker } from 'bullmq';
import type { CircuitDependencies } from '../store/circuits.ts';
import { createProcessor, type QueueBackend, queueName } from './backend.ts';
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

/** The prefix of all keys in Redis: in braces, so that a Redis Cluster stores them on one node. */
export const keyPrefix = (prefix: string) => `{${prefix}}`;

/** The queue of one database in Redis. Each database that uses this Redis has its own queue. */
export function redisBackend(options: RedisBackendOptions, dependencies: CircuitDependencies): QueueBackend {
  const { url, databaseUrl, databaseId } = options;
  const prefix = keyPrefix(options.prefix);
  const connections = {
    producer: connectRedis(url, 'producer'),
    consumer: connectRedis(url, 'consumer'),
    // A separate connection, because WAITAOF blocks all later commands of its connection.
    fallback: connectRedis(url, 'producer'),
  };
  const redis = connections.fallback;
  const fallback = new FallbackStream({ redis, prefix, databaseUrl, databaseId, ...dependencies });
  const { circuit } = fallback;
  for (const client of Object.values(connections)) {
    client.on('error', (error) => void circuit.probeAfter(error));
  }
  const name = async () => `${queueName}-${(await databaseId).slice(0, 8)}`;
  return {
    name: 'redis',
    circuit,
    fallback,
    openQueue: async (queueOptions, signal) => {
      const connection = connections.producer;
      const queue = await untilAborted(name(), signal);
      // BullMQ does not recover from a failed first look at the server. An open queue means that the fallback is
      // connected, too.
      for (const client of [connection, connections.fallback]) await untilReady(client, signal);
      return new Queue(queue, { ...queueOptions, prefix, connection, skipWaitingForReady: true });
    },
    openWorker: async (apply, workerOptions, signal) => {
      const connection = connections.consumer;
      const queue = await untilAborted(name(), signal);
      await untilReady(connection, signal);
      return new Worker(queue, createProcessor(apply), {
        ...workerOptions,
        prefix,
        connection,
        autorun: false,
      });
    },
    close: async () => {
      circuit.stop();
      for (const client of Object.values(connections)) client.disconnect();
    },
  };
}

async function untilReady(client: RedisClient, signal: AbortSignal): Promise<void> {
  while (client.status !== 'ready') {
    // After an error the client reconnects.
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
