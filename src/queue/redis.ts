import { Cluster, Redis } from 'ioredis';
import { timeLimits } from '../common/time-limits.ts';

export type RedisClient = Redis | Cluster;

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

/** A parsed REDIS_URL. */
export interface RedisAddress {
  kind: 'single' | 'sentinel' | 'cluster';
  nodes: { host: string; port: number }[];
  /** The name of the master that the sentinels monitor. */
  name: string;
  db: number;
  /** Options of ioredis. */
  access: { username?: string; password?: string; tls?: object };
}

/**
 * Parses REDIS_URL: `redis://host:port/db`, `redis+sentinel://host:port,host:port/name/db` or
 * `redis+cluster://host:port,host:port`, each with `user:password@` where needed, and `rediss` for TLS.
 *
 * @param url validated by the configuration; percent-encoding in user and password is decoded
 */
export function parseRedisUrl(url: string): RedisAddress {
  const [, tls, suffix, credentials = '', hosts = '', path = ''] =
    /^redis(s?)(?:\+(sentinel|cluster))?:\/\/(?:([^/]*)@)?([^/]*)\/?(.*)$/.exec(url) ?? [];
  const kind = (suffix ?? 'single') as RedisAddress['kind'];
  const [username, password] = credentials.split(/:(.*)/s).map(decodeURIComponent);
  const segments = path.split('/');
  return {
    kind,
    nodes: hosts.split(',').map((node) => {
      const [, host, port] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(node) ?? [];
      return { host: host || '127.0.0.1', port: Number(port ?? (kind === 'sentinel' ? 26_379 : 6_379)) };
    }),
    name: (kind === 'sentinel' && segments[0]) || 'mymaster',
    db: Number(segments[kind === 'sentinel' ? 1 : 0] || 0),
    access: { ...(username && { username }), ...(password && { password }), ...(tls && { tls: {} }) },
  };
}

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
  const address = parseRedisUrl(url);
  const client =
    address.kind === 'cluster' ? openCluster(address, options) : openSingle(address, options, retryStrategy);
  return withoutInfo(client);
}

/** A client for one server, or for the master that the sentinels name. */
export function openSingle<Options extends object>(
  { kind, nodes, name, db, access }: RedisAddress,
  options: Options,
  retryStrategy: (attempt: number) => number | null,
): Redis {
  const common = { ...options, ...access, connectTimeout: connectTimeoutMs, retryStrategy, db };
  if (kind !== 'sentinel') return new Redis({ ...common, ...nodes[0]! });
  // Without these two the connections to the sentinels would not be encrypted.
  const tls = access.tls ? { enableTLSForSentinelMode: true, sentinelTLS: access.tls } : {};
  const strategies = { sentinelRetryStrategy: retryStrategy };
  return new Redis({ ...common, ...tls, ...strategies, sentinels: nodes, name });
}

function openCluster(
  { nodes, access }: RedisAddress,
  { enableOfflineQueue, ...options }: { enableOfflineQueue: boolean },
): Cluster {
  const redisOptions = { ...options, ...access, connectTimeout: connectTimeoutMs };
  return new Cluster(nodes, { redisOptions, enableOfflineQueue, clusterRetryStrategy: retryStrategy });
}

/**
 * Returns an empty INFO where the user has no permission for it, which BullMQ takes for its oldest supported version.
 * With the error, BullMQ's worker would retry for ever and block the event loop.
 */
function withoutInfo<Client extends RedisClient>(client: Client): Client {
  const { info, duplicate } = client as Redis;
  const own: Partial<Redis> = {
    info: (...args: unknown[]) =>
      Reflect.apply(info, client, args).catch((error: Error) =>
        error.name === 'ReplyError' ? '' : Promise.reject(error),
      ),
    duplicate: (...args) => withoutInfo(Reflect.apply(duplicate, client, args)),
  };
  return Object.assign(client, own);
}
