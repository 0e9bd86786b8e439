import { Redis } from 'ioredis';
import type { Log } from '../common/log.ts';
import { withTimeout } from '../common/with-timeout.ts';
import { connectTimeoutMs } from './redis.ts';

/** Raised where Redis is available but cannot be used with this REDIS_URL; the message says what to change. */
export class RedisUnusable extends Error {
  constructor(problem: string, cause?: Error) {
    super(`REDIS_URL: ${problem}`, { cause });
    this.name = 'RedisUnusable';
  }
}

/**
 * Checks at start that the Redis of REDIS_URL accepts the password, the certificate and the number of the database. An
 * unavailable Redis is no error but a log line, because it may recover.
 *
 * @throws RedisUnusable
 */
export async function checkRedis(url: string, log: Log): Promise<void> {
  try {
    await withRedis(url, (client) => client.ping());
  } catch (error) {
    if (error instanceof RedisUnusable) throw error;
    log.warn({ err: error }, 'the Redis of REDIS_URL is unavailable; the receiver starts and retries');
  }
}

/**
 * Runs a function on a connection of its own.
 *
 * @throws RedisUnusable, the cause of a failed connection, or the function's error
 */
export async function withRedis<T>(url: string, run: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    connectTimeout: connectTimeoutMs,
    commandTimeout: connectTimeoutMs,
    retryStrategy: () => null,
  });
  // `connect` reports only that the connection was closed.
  let cause: Error | undefined;
  client.on('error', (error) => {
    cause ??= error;
  });
  try {
    await withTimeout(connectTimeoutMs, client.connect()).catch((error) => {
      throw explain(cause ?? error);
    });
    // ioredis continues in database 0 where it could not select the requested one.
    if (cause) throw explain(cause);
    return await run(client);
  } finally {
    client.disconnect();
  }
}

/** The cause of a failed connection: RedisUnusable where a retry cannot succeed, else the error itself. */
function explain(error: Error & { code?: string }): Error {
  const { message, code = '' } = error;
  if (/^NOAUTH|^WRONGPASS|invalid (username-)?password/.test(message))
    return new RedisUnusable('Redis requires another user or password', error);
  if (/DB index|SELECT is not allowed|^NOPERM/i.test(message))
    return new RedisUnusable(`Redis does not permit it: ${message}`, error);
  if (/^ERR_(SSL|TLS)|CERT|SELF_SIGNED|UNABLE_TO_/.test(code))
    return new RedisUnusable('the TLS connection failed: check the certificates', error);
  return error;
}
