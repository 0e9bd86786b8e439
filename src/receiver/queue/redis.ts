import { Redis } from 'ioredis';

/** One hash slot, as BullMQ's scripts need in a cluster. @param prefix QUEUE_PREFIX */
export const keyPrefix = (prefix: string): string => `{${prefix}}`;

const reconnecting = {
  connectTimeout: 2_000,
  retryStrategy: (attempt: number) => Math.min(attempt * 100, 2_000),
  // The server has become a replica: a new connection leads to the new primary.
  reconnectOnError: ({ message }: Error) => message.includes('READONLY'),
};

/**
 * A client that fails at once while Redis is unavailable, and sends nothing twice.
 *
 * @param timeoutMs of a commit; a command, which waits for its confirmation, has half as much again
 */
export function connectProducer(url: string, timeoutMs: number): Redis {
  const commandTimeout = 1.5 * timeoutMs;
  const atOnce = { maxRetriesPerRequest: 0, enableOfflineQueue: false };
  return new Redis(url, { ...reconnecting, ...atOnce, commandTimeout, socketTimeout: commandTimeout });
}

/** A client that waits until Redis is available. BullMQ's worker blocks for 5 s; without a limit only TCP notices a cut link. */
export const connectConsumer = (url: string): Redis =>
  new Redis(url, { ...reconnecting, maxRetriesPerRequest: null, socketTimeout: 15_000 });
