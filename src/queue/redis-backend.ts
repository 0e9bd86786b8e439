import { once } from 'node:events';
import { Queue, Worker } from 'bullmq';
import { type JobWorker, type QueueBackend, queueName } from './backend.ts';
import { connectRedis } from './redis.ts';
import { type RedisDurability, readDurability } from './redis-durability.ts';

// In braces, so that a Redis Cluster keeps all keys of the queue on one node.
const prefix = '{receiver}';

/** @param url REDIS_URL, see `connectRedis` */
export function redisBackend(url: string): QueueBackend {
  const producer = connectRedis(url, 'producer');
  const consumer = connectRedis(url, 'consumer');
  for (const client of [producer, consumer]) client.on('error', () => {}); // BullMQ reports them
  let durability: RedisDurability | undefined;
  producer.on('ready', () => {
    durability = undefined; // it may be another server now
  });
  return {
    name: 'redis',
    prepare: async () => {},
    openQueue: async (options) => {
      // BullMQ never forgets that its first look at the server failed.
      if (producer.status !== 'ready') await once(producer, 'ready');
      return new Queue(queueName, { ...options, prefix, connection: producer, skipWaitingForReady: true });
    },
    openWorker: async (process, options) => {
      const worker: JobWorker = new Worker(queueName, process, {
        ...options,
        prefix,
        connection: consumer,
        autorun: false,
      });
      const close = worker.close.bind(worker);
      // BullMQ waits for a Redis that is away to come back, though no job can be finished there.
      worker.close = (force = consumer.status !== 'ready') => close(force);
      return worker;
    },
    refuge: {
      durability: async () => {
        durability = await readDurability(producer);
        return durability;
      },
      persisted: async () => {
        durability ??= await readDurability(producer);
        if (!durability.confirmsDisk) return;
        const [onDisk] = (await producer.call('WAITAOF', 1, 0, 700)) as [number, number];
        if (onDisk < 1) throw new Error('Redis did not write to its disk in time.');
      },
    },
    ping: async () => {
      await producer.ping();
    },
    close: async () => {
      producer.disconnect();
      consumer.disconnect();
    },
  };
}
