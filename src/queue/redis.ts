import { Cluster, Redis } from 'ioredis';

export type RedisClient = Redis | Cluster;

/**
 * Who talks to Redis. A producer has a sender waiting: it gives up at once when Redis is away. A consumer
 * has time: it waits for Redis to come back.
 */
export type Patience = 'producer' | 'consumer';

const options = {
  producer: { maxRetriesPerRequest: 1, enableOfflineQueue: false, commandTimeout: 2_000 },
  consumer: { maxRetriesPerRequest: null, enableOfflineQueue: true },
};

const retryStrategy = (attempt: number) => Math.min(attempt * 100, 2_000);

/**
 * A client for REDIS_URL: `redis://host:port/db`, `redis+sentinel://host:port,host:port/name/db` or
 * `redis+cluster://host:port,host:port`, each with `user:password@` where needed, and `rediss` for TLS.
 */
export function connectRedis(url: string, patience: Patience): RedisClient {
  const [, scheme, credentials, hosts, path] =
    /^(rediss?(?:\+sentinel|\+cluster)?):\/\/(?:([^@]*)@)?([^/]*)\/?(.*)$/.exec(url) ?? [];
  const [username, password] = (credentials ?? '').split(':').map(decodeURIComponent);
  const common = {
    ...options[patience],
    connectTimeout: 2_000,
    retryStrategy,
    ...(username ? { username } : {}),
    ...(password ? { password } : {}),
    ...(scheme?.startsWith('rediss') ? { tls: {} } : {}),
  };
  const nodes = (hosts ?? '').split(',').map((node) => {
    const [, host, port] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(node) ?? [];
    return {
      host: host || '127.0.0.1',
      port: Number(port ?? (scheme?.endsWith('sentinel') ? 26_379 : 6_379)),
    };
  });
  const segments = (path ?? '').split('/');
  if (scheme?.endsWith('+sentinel')) {
    const [name = 'mymaster', db = '0'] = segments;
    return new Redis({
      ...common,
      sentinels: nodes,
      name,
      db: Number(db),
      sentinelRetryStrategy: retryStrategy,
    });
  }
  if (scheme?.endsWith('+cluster')) {
    const { enableOfflineQueue, retryStrategy: clusterRetryStrategy, ...redisOptions } = common;
    return new Cluster(nodes, { redisOptions, enableOfflineQueue, clusterRetryStrategy });
  }
  return new Redis({ ...common, ...nodes[0]!, db: Number(segments[0] || 0) });
}
