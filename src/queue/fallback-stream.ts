import type { Kysely } from 'kysely';
import { throttled } from '../common/log.ts';
import type { Circuit } from '../store/circuit.ts';
import { type CircuitDependencies, redisCircuit, redisTimeoutMs } from '../store/circuits.ts';
import type { Tables } from '../store/tables.ts';
import { DatabaseRegistry, hashAddress } from './database-registry.ts';
import { displaceKeys, type RedisType, typesOfQueue } from './displace-keys.ts';
import { DrainLease, leaseKey } from './drain-lease.ts';
import { queueOf } from './queue-name.ts';
import type { RedisClient } from './redis.ts';
import { type RedisDurability, readDurability } from './redis-durability.ts';

/** A delivery in the stream. */
export interface StreamedDelivery {
  id: string;
  family: string;
  body: Buffer;
}

export interface StreamEntry extends StreamedDelivery {
  /** The id of the entry in its stream. */
  entryId: string;
}

export interface FallbackStreamOptions extends CircuitDependencies {
  redis: RedisClient;
  /** The prefix of all keys; in braces, so that a Redis Cluster stores them on one node. */
  prefix: string;
  databaseUrl: string;
  db: Kysely<Tables>;
  /** The id of the database of the deliveries; pending until PostgreSQL is available for the first time. */
  databaseId: Promise<string>;
}

/** @param name the id of a database, or its hashed address */
export const streamKey = (prefix: string, name: string) => `${prefix}:fallback:${name}`;

// Redis takes up to a second to confirm with appendfsync everysec. The rest of the timeout is for the network.
const diskTimeoutMs = redisTimeoutMs - 100;

/**
 * Stores deliveries in Redis until PostgreSQL is available again: one stream per database and one entry per delivery,
 * which is removed only after it is a row.
 *
 * A process that has not reached its database since its start does not know the database's id. It writes to a stream
 * named after the address of the database instead. Every process that knows both registers which database its address
 * leads to, so that any worker of that database drains the stream. While one address leads to two databases, as in two
 * networks that share a Redis, such a stream is neither written nor drained.
 */
export class FallbackStream {
  /** The circuit breaker of Redis. */
  readonly circuit: Circuit;
  private readonly redis: RedisClient;
  private readonly prefix: string;
  private readonly registry: DatabaseRegistry;
  private readonly address: string;
  private databaseId: string | undefined;
  private lease: DrainLease | undefined;
  private durability: RedisDurability | undefined;

  constructor({ redis, prefix, databaseUrl, db, databaseId, ...dependencies }: FallbackStreamOptions) {
    this.redis = redis;
    const report = throttled((more, err) =>
      dependencies.log.warn({ err, ...more }, 'the types of keys in Redis could not be checked'),
    );
    const probe = async () => {
      await redis.set(`${prefix}:probe`, '1', 'PX', 60_000);
      await displaceKeys(redis, this.keys(), dependencies.log).catch(report);
    };
    this.circuit = redisCircuit(probe, dependencies);
    this.prefix = prefix;
    this.registry = new DatabaseRegistry(redis, `${prefix}:databases`);
    this.address = hashAddress(databaseUrl);
    databaseId.then(
      (id) => {
        this.databaseId = id;
        void this.registry.keepRegistered(this.address, id);
        this.lease = new DrainLease(redis, leaseKey(prefix, id), db, dependencies.log);
        void this.lease.keepRenewed();
      },
      () => {}, // reported by the preparation of the database
    );
    redis.on('ready', () => {
      this.durability = undefined; // after a failover, another server
    });
  }

  /**
   * Resolves once the deliveries are as durable as this Redis can make them.
   *
   * @throws Redis's error; some of the deliveries may be stored nevertheless. Error where another database would drain them
   */
  async append(deliveries: readonly StreamedDelivery[]): Promise<void> {
    if (this.rival) throw new Error('Another database has the same identity: set QUEUE_PREFIX.');
    const key = this.databaseId ? this.streamOf(this.databaseId) : await this.streamOfAddress();
    const { confirmsDisk } = this.durability ?? (await this.readDurability());
    // A pipeline uses one connection to one node, so the node that has stored the entries confirms them.
    const pipeline = this.redis.pipeline();
    for (const { id, family, body } of deliveries) {
      pipeline.xadd(key, '*', 'id', id, 'family', family, 'body', body);
    }
    if (confirmsDisk) pipeline.call('WAITAOF', 1, 0, diskTimeoutMs);
    const results = await pipeline.exec();
    if (!results) throw new Error('Redis dropped the pipeline.');
    for (const [error] of results) if (error) throw error;
    if (!confirmsDisk) return;
    const [onDisk] = results.at(-1)![1] as [number, number];
    if (onDisk < 1) throw new Error('Redis did not write to its disk in time.');
  }

  /** Another database with this database's identity, which drains; undefined: none is known. */
  get rival(): string | undefined {
    return this.lease?.rival;
  }

  /**
   * Whether this database may drain, see DrainLease.
   *
   * @throws the database's error, or Redis's
   */
  async mayDrain(): Promise<boolean> {
    return (await this.lease?.renew()) ?? false;
  }

  /** The streams that contain deliveries of this database and of no other. */
  async streams(): Promise<string[]> {
    const id = this.databaseId;
    if (!id) return [];
    const databases = await this.registry.read();
    const own = [...databases].filter(([, ids]) => ids.size === 1 && ids.has(id)).map(([address]) => address);
    return [id, ...own].map((name) => this.streamOf(name));
  }

  /** The oldest entries of a stream. One that somebody else has added may have no id, which PostgreSQL refuses: it is parked. */
  async read(stream: string, count: number): Promise<StreamEntry[]> {
    const entries = (await this.redis.xrangeBuffer(stream, '-', '+', 'COUNT', count)) as [Buffer, Buffer[]][];
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
  }

  async remove(stream: string, entries: readonly StreamEntry[]): Promise<void> {
    await this.redis.xdel(stream, ...entries.map(({ entryId }) => entryId));
  }

  /**
   * Makes Redis write its append-only file anew, without what was removed.
   *
   * @returns false where it is being written already, and has to be written once more
   * @throws Redis's error: a user may not have the permission
   */
  async rewriteLog(): Promise<boolean> {
    const { keepsLog } = this.durability ?? (await this.readDurability());
    if (keepsLog === false) return true;
    const nodes = 'nodes' in this.redis ? this.redis.nodes('master') : [this.redis];
    try {
      await Promise.all(nodes.map((node) => node.call('BGREWRITEAOF')));
      return true;
    } catch (error) {
      if (/in progress|scheduled/i.test((error as Error).message)) return false;
      throw error;
    }
  }

  /** The number of stored deliveries, including those that cannot be drained yet. */
  async count(): Promise<number> {
    const counts = await Promise.all((await this.allStreams()).map((stream) => this.redis.xlen(stream)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** When the oldest of them was stored, by Redis's clock; undefined: there is none. */
  async oldest(): Promise<Date | undefined> {
    const streams = await this.allStreams();
    const first = await Promise.all(streams.map((stream) => this.read(stream, 1)));
    const times = first.flat().map(({ entryId }) => Number.parseInt(entryId, 10));
    return times.length > 0 ? new Date(Math.min(...times)) : undefined;
  }

  /** The receiver's keys, with their types. */
  private keys(): Record<string, RedisType> {
    const { databaseId: id } = this;
    return {
      [this.registry.key]: 'zset',
      [this.streamOf(this.address)]: 'stream',
      ...(id && { [this.streamOf(id)]: 'stream', [leaseKey(this.prefix, id)]: 'string' }),
      ...(id && typesOfQueue(`${this.prefix}:${queueOf(id)}`)),
    };
  }

  private async allStreams(): Promise<string[]> {
    const names = new Set([this.address]);
    if (this.databaseId) {
      names.add(this.databaseId);
      for (const [address, ids] of await this.registry.read())
        if (ids.has(this.databaseId)) names.add(address);
    }
    return [...names].map((name) => this.streamOf(name));
  }

  /** Reads how durable a delivery is on the node of the streams. */
  async readDurability(): Promise<RedisDurability> {
    this.durability = await readDurability(this.redis, this.registry.key);
    return this.durability;
  }

  private streamOf(name: string): string {
    return streamKey(this.prefix, name);
  }

  private async streamOfAddress(): Promise<string> {
    const databases = await this.registry.read();
    if ((databases.get(this.address)?.size ?? 0) > 1) {
      throw new Error('Two databases have this address: set QUEUE_PREFIX.');
    }
    return this.streamOf(this.address);
  }
}
