import { setTimeout as sleep } from 'node:timers/promises';
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

const connectTimeout = 2_000;
const refusedPauseMs = 1_000;
const retryStrategy = (attempt: number) => Math.min(attempt * 100, 2_000);

/** What REDIS_URL says. */
export interface RedisAddress {
  kind: 'single' | 'sentinel' | 'cluster';
  nodes: { host: string; port: number }[];
  /** The name that the sentinels know the master by. */
  name: string;
  db: number;
  /** Options of ioredis. */
  access: { username?: string; password?: string; tls?: object };
}

/**
 * Parses REDIS_URL: `redis://host:port/db`, `redis+sentinel://host:port,host:port/name/db` or
 * `redis+cluster://host:port,host:port`, each with `user:password@` where needed, and `rediss` for TLS.
 *
 * @param url as the configuration has checked it; percent-encoding in user and password is decoded
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

/** A client for REDIS_URL that connects again whenever the connection ends. */
export function connectRedis(url: string, patience: Patience): RedisClient {
  const address = parseRedisUrl(url);
  const client =
    address.kind === 'cluster'
      ? openCluster(address, options[patience])
      : openSingle(address, options[patience], retryStrategy);
  return boundRefusals(client, patience);
}

/** A client for one server, or for the master that the sentinels name. */
export function openSingle<Options extends object>(
  { kind, nodes, name, db, access }: RedisAddress,
  options: Options,
  retryStrategy: (attempt: number) => number | null,
): Redis {
  const common = { ...options, ...access, connectTimeout, retryStrategy, db };
  if (kind !== 'sentinel') return new Redis({ ...common, ...nodes[0]! });
  // Without these two it would know the certificates and encrypt nothing.
  const tls = access.tls ? { enableTLSForSentinelMode: true, sentinelTLS: access.tls } : {};
  const strategies = { sentinelRetryStrategy: retryStrategy };
  return new Redis({ ...common, ...tls, ...strategies, sentinels: nodes, name });
}

function openCluster(
  { nodes, access }: RedisAddress,
  { enableOfflineQueue, ...options }: { enableOfflineQueue: boolean },
): Cluster {
  const redisOptions = { ...options, ...access, connectTimeout };
  return new Cluster(nodes, { redisOptions, enableOfflineQueue, clusterRetryStrategy: retryStrategy });
}

/**
 * Bounds what BullMQ does when Redis refuses a command, as it does when a right is taken away.
 *
 * BullMQ asks INFO once, and its worker spins for ever, without a turn of the event loop, if that fails: an
 * INFO that is not allowed says nothing instead, which BullMQ takes for its oldest version. Any other refused
 * command is asked again at once: a consumer learns of it a second later.
 */
function boundRefusals<Client extends RedisClient>(client: Client, patience: Patience): Client {
  const { info, sendCommand, duplicate } = client as Redis;
  const bounded: Partial<Redis> = {
    info: (...args: unknown[]) =>
      Reflect.apply(info, client, args).catch((error: Error) =>
        isRefusal(error) ? '' : Promise.reject(error),
      ),
    duplicate: (...args) => boundRefusals(Reflect.apply(duplicate, client, args), patience),
  };
  if (patience === 'consumer') {
    bounded.sendCommand = (...args) => {
      const answer = Reflect.apply(sendCommand, client, args) as Promise<unknown>;
      const late = answer.catch(async (error: Error) => {
        // Until then it is ioredis that asks, and takes its own pauses.
        if (client.status === 'ready' && isRefusal(error)) await sleep(refusedPauseMs);
        throw error;
      });
      late.catch(() => {}); // ioredis does not look at the answers of its own commands
      return late;
    };
  }
  return Object.assign(client, bounded);
}

/** Whether Redis answered that it will not do it; what a script says to itself is not meant. */
function isRefusal(error: Error): boolean {
  return error.name === 'ReplyError' && !error.message.startsWith('NOSCRIPT');
}
