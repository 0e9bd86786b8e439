import type { Redis } from 'ioredis';
import type { Log } from '../common/log.ts';
import { withTimeout } from '../common/with-timeout.ts';
import { connectTimeoutMs, openSingle, parseRedisUrl, type RedisAddress } from './redis.ts';
import { checkPermissions, RedisUnusable } from './redis-permissions.ts';

// Connecting to a sentinel, asking it, and connecting to the master.
const timeoutMs = 3 * connectTimeoutMs;

/**
 * Checks at start that the Redis of REDIS_URL accepts the password, the certificate and the number of the database,
 * and permits every command of the queue and of the fallback. It changes nothing there.
 *
 * An unavailable Redis is no error but a log line, because it may recover. Of a cluster, each node in REDIS_URL is
 * checked.
 *
 * @param prefix of the keys, without braces
 * @throws RedisUnusable
 */
export async function checkRedis(url: string, prefix: string, log: Log): Promise<void> {
  const isCluster = parseRedisUrl(url).kind === 'cluster';
  await Promise.all(
    serversOf(url).map(async (server) => {
      try {
        await withServer(server, (client) => checkPermissions(client, isCluster, checkKey(prefix)));
      } catch (error) {
        if (error instanceof RedisUnusable) throw error;
        const message = 'the Redis of REDIS_URL is unavailable; the receiver starts and retries';
        log.warn({ err: error, redis: server.nodes }, message);
      }
    }),
  );
}

/** The key of `checkPermissions`. */
export const checkKey = (prefix: string) => `{${prefix}}:check`;

/** Each node of a cluster in REDIS_URL, or the one server that it leads to. */
export function serversOf(url: string): RedisAddress[] {
  const address = parseRedisUrl(url);
  if (address.kind !== 'cluster') return [address];
  return address.nodes.map((node) => ({ ...address, kind: 'single', nodes: [node] }));
}

/**
 * Runs a function on a connection of its own.
 *
 * @throws RedisUnusable, the cause of a failed connection, or the function's error
 */
export async function withServer<T>(address: RedisAddress, run: (client: Redis) => Promise<T>): Promise<T> {
  // One attempt, and without the ready check, which needs permission for INFO.
  const options = {
    lazyConnect: true,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    commandTimeout: connectTimeoutMs,
  };
  const client = openSingle(address, options, () => null);
  // `connect` reports only that the connection was closed.
  let cause: Error | undefined;
  let sentinelCause: Error | undefined;
  client.on('error', (error) => {
    cause ??= error;
  });
  client.on('sentinelError', (error) => {
    sentinelCause = error;
  });
  try {
    await withTimeout(timeoutMs, client.connect()).catch((error) => {
      throw explain(sentinelCause ?? cause ?? error, address);
    });
    // ioredis continues in database 0 where it could not select the requested one.
    if (cause) throw explain(cause, address);
    return await run(client);
  } finally {
    client.disconnect();
  }
}

/** The cause of a failed connection: RedisUnusable where a retry cannot succeed, else the error itself. */
function explain(error: Error & { code?: string }, { access, db, name }: RedisAddress): Error {
  const { message, code = '' } = error;
  const user = access.username ?? 'default';
  if (/^NOAUTH|^WRONGPASS|invalid (username-)?password/.test(message)) {
    const problem = access.password ? `rejects the password of the user ${user}` : 'requires a password';
    return new RedisUnusable(`Redis ${problem}`, error);
  }
  if (/DB index|SELECT is not allowed|^NOPERM.*select/i.test(message)) {
    return new RedisUnusable(`Redis does not permit the database ${db}`, error);
  }
  if (/No such master|invalid reply: null/.test(message)) {
    return new RedisUnusable(`the sentinel knows no master named ${name}`, error);
  }
  if (/^ERR_(SSL|TLS)|CERT|SELF_SIGNED|UNABLE_TO_/.test(code)) {
    return new RedisUnusable('the TLS connection failed: check the certificates', error);
  }
  return error;
}
