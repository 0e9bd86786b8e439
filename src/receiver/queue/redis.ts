import { Redis } from 'ioredis';
import type { Log } from '../../common/log.ts';
import { withTimeout } from '../../common/timeouts.ts';

const connectTimeoutMs = 2_000;

/** One hash slot, as BullMQ's scripts need in a cluster. @param prefix QUEUE_PREFIX */
export const keyPrefix = (prefix: string): string => `{${prefix}}`;

const reconnecting = {
  connectTimeout: connectTimeoutMs,
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

export class RedisUnusable extends Error {
  constructor(cause: Error) {
    super(`REDIS_URL cannot be used: ${cause.message}`, { cause });
    this.name = 'RedisUnusable';
  }
}

/** The password, the rights, the number of the database, the certificate. */
const isFinal = ({ message, code = '' }: Error & { code?: string }) =>
  /^NOAUTH|^WRONGPASS|^NOPERM|invalid (username-)?password|DB index/i.test(message) ||
  /^ERR_(SSL|TLS)|CERT|SELF_SIGNED|UNABLE_TO_/.test(code);

/** @throws RedisUnusable; an unavailable Redis, which may come back, is a line in the log */
export async function checkRedis(url: string, log: Log): Promise<void> {
  const client = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    connectTimeout: connectTimeoutMs,
    commandTimeout: connectTimeoutMs,
    retryStrategy: () => null,
  });
  // `connect` reports only that the connection was closed; after a refused SELECT it goes on in database 0.
  let cause: Error | undefined;
  client.on('error', (error) => {
    cause ??= error;
  });
  try {
    await withTimeout(connectTimeoutMs, client.connect());
    await client.ping();
  } catch (error) {
    cause ??= error as Error;
  } finally {
    client.disconnect();
  }
  if (!cause) return;
  if (isFinal(cause)) throw new RedisUnusable(cause);
  log.warn({ err: cause }, 'the Redis of REDIS_URL is unavailable; the receiver starts and retries');
}
