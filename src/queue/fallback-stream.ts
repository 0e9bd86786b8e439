import { throttled } from '../common/log.ts';
import { type CircuitDependencies, redisCircuit } from '../store/circuits.ts';
import type { Db } from '../store/tables.ts';
import { createDatabaseRegistry, hashAddress } from './database-registry.ts';
import { displaceKeys, queueOf, type RedisType, typesOfQueue } from './displace-keys.ts';
import { createDrainLease, leaseKey } from './drain-lease.ts';
import { type FallbackState, type WatchOptions, watchDurability } from './watch-durability.ts';

export type FallbackStream = ReturnType<typeof createFallbackStream>;

/** A delivery in the stream. */
interface StreamEntry {
  /** The id of the entry in its stream. */
  entryId: string;
  id: string;
  family: string;
  body: Buffer;
}

export interface FallbackStreamOptions
  extends CircuitDependencies,
    Pick<WatchOptions, 'redis' | 'forgetReplicaMs'> {
  /** REDIS_FALLBACK. Default: checked. */
  mode?: WatchOptions['mode'];
  /** The prefix of all keys. */
  prefix: string;
  databaseUrl: string;
  db: Db;
  /** The id of the database of the deliveries; pending until PostgreSQL is available for the first time. */
  databaseId: Promise<string>;
}

/** @param name the id of a database, or its hashed address */
export const streamKey = (prefix: string, name: string) => `${prefix}:fallback:${name}`;

/** How long it is known which deliveries were drained without becoming rows. */
const settledMs = 24 * 60 * 60 * 1000;

/**
 * Stores deliveries in Redis until PostgreSQL is available again: one stream per database and one entry per delivery,
 * which is removed only after it is a row.
 *
 * A process that has not reached its database since its start does not know the database's id. It writes to a stream
 * named after the address of the database instead. Every process that knows both registers which database its address
 * leads to, so that any worker of that database drains the stream. While one address leads to two databases, as in two
 * networks that share a Redis, such a stream is neither written nor drained.
 */
export function createFallbackStream({
  redis,
  prefix,
  databaseUrl,
  db,
  databaseId,
  mode = 'checked',
  forgetReplicaMs,
  ...dependencies
}: FallbackStreamOptions) {
  const { log } = dependencies;
  const registryKey = `${prefix}:databases`;
  const registry = createDatabaseRegistry(redis, registryKey);
  const address = hashAddress(databaseUrl);
  let id: string | undefined;
  let lease: ReturnType<typeof createDrainLease> | undefined;
  const durability = watchDurability({
    redis,
    key: registryKey,
    mode,
    forgetReplicaMs,
    log,
    timeoutMs: dependencies.timeoutMs,
  });

  const streamOf = (name: string) => streamKey(prefix, name);
  /** A sorted set of the ids of deliveries that were drained without becoming rows, by time. */
  const settledKey = (name: string) => `${prefix}:settled:${name}`;
  /** The receiver's keys, with their types. */
  const keys = (): Record<string, RedisType> => ({
    [registryKey]: 'zset',
    [streamOf(address)]: 'stream',
    ...(id && {
      [streamOf(id)]: 'stream',
      [leaseKey(prefix, id)]: 'string',
      [settledKey(id)]: 'zset',
    }),
    ...(id && typesOfQueue(`${prefix}:${queueOf(id)}`)),
  });
  const report = throttled((more, err) =>
    log.warn({ err, ...more }, 'the types of keys in Redis could not be checked'),
  );
  const probe = async () => {
    await redis.set(`${prefix}:probe`, '1', 'PX', 60_000);
    await displaceKeys(redis, keys(), log).catch(report);
  };

  databaseId.then(
    (known) => {
      id = known;
      void registry.keepRegistered(address, id);
      lease = createDrainLease(redis, leaseKey(prefix, id), db, log);
      void lease.keepRenewed();
    },
    () => {}, // reported by the preparation of the database
  );
  /** The state of Redis as the fallback store, and whether another database drains it. */
  const accepting = (state: FallbackState): FallbackState =>
    lease?.rival
      ? {
          ...state,
          acknowledges: false,
          detail: `another database with the same identity, ${lease.rival}, drains it. Give the copy another QUEUE_PREFIX`,
        }
      : state;

  const streamOfAddress = async () => {
    const databases = await registry.read();
    if ((databases.get(address)?.size ?? 0) > 1) {
      throw new Error('Two databases have this address: set QUEUE_PREFIX.');
    }
    return streamOf(address);
  };

  const allStreams = async () => {
    const names = new Set([address]);
    if (id) {
      names.add(id);
      for (const [other, ids] of await registry.read()) if (ids.has(id)) names.add(other);
    }
    return [...names].map(streamOf);
  };

  /** The oldest entries of a stream. One that somebody else has added may have no id, which PostgreSQL refuses: it is parked. */
  const read = async (stream: string, count: number): Promise<StreamEntry[]> => {
    const entries = (await redis.xrangeBuffer(stream, '-', '+', 'COUNT', count)) as [Buffer, Buffer[]][];
    return entries.map(([entryId, values]) => {
      const field = (name: string) => {
        const at = values.findIndex((value, index) => index % 2 === 0 && value.equals(Buffer.from(name)));
        return at < 0 ? undefined : values[at + 1];
      };
      return {
        entryId: entryId.toString(),
        id: field('id')?.toString() ?? '',
        family: field('family')?.toString() ?? '',
        body: field('body') ?? Buffer.from(values.join(' ')),
      };
    });
  };

  return {
    /** The circuit breaker of Redis. */
    circuit: redisCircuit(probe, dependencies),

    /** Another database with this database's identity, which drains; undefined: none is known. */
    get rival(): string | undefined {
      return lease?.rival;
    },

    /** When this database drains if the rival goes on showing no sign of life. */
    get drainsAt(): Date | undefined {
      return lease?.drainsAt;
    },

    /** Whether what is stored here is acknowledged, as of the last look; undefined: not since the connection was made. */
    get state(): FallbackState | undefined {
      return durability.state && accepting(durability.state);
    },

    /** The same, of now. @throws Redis's error */
    readState: async (): Promise<FallbackState> => accepting(await durability.read()),

    /**
     * Stores deliveries.
     *
     * @returns whether Redis keeps them: otherwise they must not be acknowledged, though most are drained later
     * @throws Redis's error; some of the deliveries may be stored nevertheless. Error where another database would drain them
     */
    append: async (deliveries: readonly Omit<StreamEntry, 'entryId'>[]): Promise<boolean> => {
      if (lease?.rival) throw new Error('Another database has the same identity: set QUEUE_PREFIX.');
      const key = id ? streamOf(id) : await streamOfAddress();
      // A pipeline uses one connection to one node, so the node that has stored the entries confirms them.
      return durability.commit((pipeline) => {
        for (const { id, family, body } of deliveries) {
          pipeline.xadd(key, '*', 'id', id, 'family', family, 'body', body);
        }
        // One that somebody has set would delete all entries.
        pipeline.persist(key);
      });
    },

    /**
     * Whether this database may drain, see createDrainLease.
     *
     * @throws the database's error, or Redis's
     */
    mayDrain: async (): Promise<boolean> => (await lease?.renew()) ?? false,

    /** The streams that contain deliveries of this database and of no other. */
    streams: async (): Promise<string[]> => {
      if (!id) return [];
      const own = [id];
      for (const [other, ids] of await registry.read()) if (ids.size === 1 && ids.has(id)) own.push(other);
      return own.map(streamOf);
    },

    read,

    /** @param settled the ids of those that did not become rows, for `settled` */
    remove: async (
      stream: string,
      entries: readonly StreamEntry[],
      settled: readonly string[] = [],
    ): Promise<void> => {
      const pipeline = redis.pipeline();
      pipeline.xdel(stream, ...entries.map(({ entryId }) => entryId));
      if (id && settled.length > 0) {
        const now = Date.now();
        pipeline.zadd(settledKey(id), ...settled.flatMap((one) => [now, one]));
        pipeline.zremrangebyscore(settledKey(id), '-inf', now - settledMs);
      }
      const [error] = (await pipeline.exec())?.[0] ?? [new Error('Redis dropped the pipeline.')];
      if (error) throw error;
    },

    /** Those of these deliveries that were drained without becoming rows: erased, expired, or in quarantine. @throws Redis's error */
    settled: async (ids: readonly string[]): Promise<Set<string>> => {
      if (!id) return new Set();
      const pipeline = redis.pipeline();
      for (const one of ids) pipeline.zscore(settledKey(id), one);
      const results = (await pipeline.exec()) ?? [];
      for (const [error] of results) if (error) throw error;
      return new Set(ids.filter((_, index) => results[index]?.[1] != null));
    },

    /**
     * Makes Redis write its append-only file anew, without what was removed.
     *
     * @returns false where it is being written already, and has to be written once more
     * @throws Redis's error: a user may not have the permission
     */
    rewriteLog: async (): Promise<boolean> => {
      if ((await durability.keepsLog()) === false) return true;
      try {
        await redis.call('BGREWRITEAOF');
        return true;
      } catch (error) {
        if (/in progress|scheduled/i.test((error as Error).message)) return false;
        throw error;
      }
    },

    /** The number of stored deliveries, including those that cannot be drained yet. */
    count: async (): Promise<number> => {
      const counts = await Promise.all((await allStreams()).map((stream) => redis.xlen(stream)));
      return counts.reduce((sum, count) => sum + count, 0);
    },

    /** When the oldest of them was stored, by Redis's clock; undefined: there is none. */
    oldest: async (): Promise<Date | undefined> => {
      const first = await Promise.all((await allStreams()).map((stream) => read(stream, 1)));
      const times = first.flat().map(({ entryId }) => Number.parseInt(entryId, 10));
      return times.length > 0 ? new Date(Math.min(...times)) : undefined;
    },
  };
}
