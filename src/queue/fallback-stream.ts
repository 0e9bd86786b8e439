import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Circuit } from '../store/circuit.ts';
import { type CircuitDependencies, redisCircuit } from '../store/circuits.ts';
import type { RedisClient } from './redis.ts';
import { type RedisDurability, readDurability } from './redis-durability.ts';

/** A delivery as the stream holds it: what the inbox takes. */
export interface StreamedDelivery {
  id: string;
  family: string;
  body: Buffer;
}

/** An entry of a stream, with what identifies it there. */
export interface StreamEntry extends StreamedDelivery {
  entryId: string;
}

export interface FallbackStreamOptions extends CircuitDependencies {
  redis: RedisClient;
  /** Of all keys; in braces, so that a Redis Cluster keeps them on one node. */
  prefix: string;
  databaseUrl: string;
  /** The id of the database that the deliveries belong to; pending while PostgreSQL has not answered yet. */
  databaseId: Promise<string>;
}

// A disk that Redis syncs every second (appendfsync everysec) takes up to a second to confirm.
const diskTimeoutMs = 1_200;
const noteEveryMs = 10_000;
const retryMs = 1_000;
// A database that no process has been seen with for so long has left its address to another.
const knownForS = 300;

/**
 * Deliveries that wait in Redis until PostgreSQL is back: one stream a database, one entry a delivery, and no
 * consumer, no attempt and no time limit that could end its stay. An entry is removed once it is a row.
 *
 * A process that has not reached its database since its start does not know the database's id. It uses a stream
 * named after the address of the database instead. Every process that knows both keeps noting in Redis which
 * database its address leads to, so that any worker of that database drains the stream. While one address leads to
 * two databases, as in two networks that share a Redis, such a stream is neither written nor drained.
 */
export class FallbackStream {
  /** Of Redis. */
  readonly circuit: Circuit;
  private readonly redis: RedisClient;
  private readonly prefix: string;
  private readonly address: string;
  private databaseId: string | undefined;
  private durability: RedisDurability | undefined;

  constructor({ redis, prefix, databaseUrl, databaseId, ...reporting }: FallbackStreamOptions) {
    this.redis = redis;
    this.circuit = redisCircuit(() => this.probe(), reporting);
    this.prefix = prefix;
    const address = databaseUrl.replace(/\/\/.*@/, '//');
    this.address = createHash('sha256').update(address).digest('hex').slice(0, 32);
    databaseId.then(
      (id) => {
        this.databaseId = id;
        void this.keepNotingAddress(id);
      },
      () => {}, // who prepares the database reports it
    );
    redis.on('ready', () => {
      this.durability = undefined; // it may be another server now
    });
  }

  /**
   * Resolves once the deliveries are as durable as this Redis can make them.
   *
   * @throws Redis's error; some of them may be held all the same
   */
  async append(deliveries: readonly StreamedDelivery[]): Promise<void> {
    const key = this.databaseId ? this.streamOf(this.databaseId) : await this.streamOfAddress();
    const { confirmsDisk } = this.durability ?? (await this.readDurability());
    // One pipeline goes to one node, over one connection: so the node that took the writes confirms them.
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

  /** The streams that hold deliveries of this database and of no other. */
  async streams(): Promise<string[]> {
    const id = this.databaseId;
    if (!id) return [];
    const databases = await this.readAddresses();
    const own = [...databases].filter(([, ids]) => ids.size === 1 && ids.has(id)).map(([address]) => address);
    return [id, ...own].map((name) => this.streamOf(name));
  }

  /** The oldest entries of a stream. */
  async read(stream: string, count: number): Promise<StreamEntry[]> {
    const entries = (await this.redis.xrangeBuffer(stream, '-', '+', 'COUNT', count)) as [Buffer, Buffer[]][];
    return entries.map(([entryId, fields]) => ({
      entryId: entryId.toString(),
      id: fields[1]!.toString(),
      family: fields[3]!.toString(),
      body: fields[5]!,
    }));
  }

  async remove(stream: string, entries: readonly StreamEntry[]): Promise<void> {
    await this.redis.xdel(stream, ...entries.map(({ entryId }) => entryId));
  }

  /** How many deliveries wait, those included that cannot be drained yet. */
  async count(): Promise<number> {
    const names = new Set([this.address]);
    if (this.databaseId) {
      names.add(this.databaseId);
      for (const [address, ids] of await this.readAddresses())
        if (ids.has(this.databaseId)) names.add(address);
    }
    const counts = await Promise.all([...names].map((name) => this.redis.xlen(this.streamOf(name))));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Writes something that does not matter, to find out whether Redis takes writes. */
  private async probe(): Promise<void> {
    await this.redis.set(`${this.prefix}:probe`, '1', 'PX', 60_000);
  }

  /** What the settings of the node that holds the streams mean for deliveries that wait there. */
  async readDurability(): Promise<RedisDurability> {
    this.durability = await readDurability(this.redis, this.databasesKey);
    return this.durability;
  }

  private async keepNotingAddress(databaseId: string): Promise<void> {
    while (this.redis.status !== 'end') {
      try {
        const now = Number((await this.redis.time())[0]);
        await this.redis.zadd(this.databasesKey, now, `${this.address} ${databaseId}`);
        await this.redis.zremrangebyscore(this.databasesKey, '-inf', now - knownForS);
        await sleep(noteEveryMs, undefined, { ref: false });
      } catch {
        // Redis is away, which its circuit reports.
        await sleep(retryMs, undefined, { ref: false });
      }
    }
  }

  /** The databases that each address leads to, as far as they were noted of late. */
  private async readAddresses(): Promise<Map<string, Set<string>>> {
    const [now] = await this.redis.time();
    const notes = await this.redis.zrangebyscore(this.databasesKey, Number(now) - knownForS, '+inf');
    const databases = new Map<string, Set<string>>();
    for (const note of notes) {
      const [address, id] = note.split(' ') as [string, string];
      databases.set(address, (databases.get(address) ?? new Set()).add(id));
    }
    return databases;
  }

  private get databasesKey(): string {
    return `${this.prefix}:databases`;
  }

  private streamOf(name: string): string {
    return `${this.prefix}:fallback:${name}`;
  }

  private async streamOfAddress(): Promise<string> {
    const databases = await this.readAddresses();
    if ((databases.get(this.address)?.size ?? 0) > 1) {
      throw new Error('Two databases are known by this address: set QUEUE_PREFIX.');
    }
    return this.streamOf(this.address);
  }
}
