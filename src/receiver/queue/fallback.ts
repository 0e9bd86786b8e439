import type { Redis } from 'ioredis';
import type { SpilledDelivery } from '../../callbacks/delivery.ts';
import type { Config } from '../../common/config/config.ts';
import type { Log } from '../../common/log.ts';
import { pause } from '../../common/timeouts.ts';
import { type Circuit, createCircuit } from '../store/circuit.ts';
import { type FallbackState, isAway, NotKept, watchDurability } from './durability.ts';
import { connectProducer, keyPrefix } from './redis.ts';

export interface SpilledEntry extends SpilledDelivery {
  entryId: string;
}

export interface Fallback {
  /** Resolves once the state is known, or Redis is away. */
  opening: Promise<unknown>;
  circuit: Circuit;
  readonly state: FallbackState;
  /** @throws StoreUnavailable where they are not surely kept; some may be stored nevertheless */
  append: (deliveries: readonly SpilledDelivery[]) => Promise<void>;
  /**
   * The oldest entries behind one, at most `count`; none where another database owns the stream, or this one is not known yet.
   *
   * @throws Redis's error
   */
  read: (count: number, after?: string) => Promise<SpilledEntry[]>;
  /** @throws Redis's error */
  remove: (entries: readonly SpilledEntry[]) => Promise<void>;
  /** By Redis's clock. @throws Redis's error */
  waiting: () => Promise<{ count: number; oldest: Date | undefined }>;
  close: () => void;
}

const ownerExpiresS = 300;

interface FallbackOptions {
  url: string;
  config: Config;
  /** The database that the deliveries are for; pending until PostgreSQL has been reached. */
  identity: Promise<string>;
  log: Log;
}

/**
 * Keeps deliveries while PostgreSQL is unavailable: a stream in Redis with one entry per delivery, which is removed only once it
 * is in the database. The stream belongs to one database, so that a copy of it does not take the deliveries; once no process of
 * that database has claimed it for five minutes, another may have it.
 */
export function createFallback(options: FallbackOptions): Fallback {
  const { url, config, log } = options;
  const timeoutMs = config.times.redisMs;
  const prefix = keyPrefix(config.queuePrefix);
  const stream = `${prefix}:fallback`;
  const closing = new AbortController();
  // A connection of its own: WAITAOF blocks all later commands of its connection.
  const redis = connectProducer(url, timeoutMs);
  const durability = watchDurability(redis, config, log);
  const claim = keepClaimed(redis, `${prefix}:owner`, options, closing.signal);

  // Only of what is appended: a full Redis takes nothing, and is drained nevertheless.
  const circuit = createCircuit({
    store: 'Redis',
    timeoutMs,
    probe: () => redis.set(`${prefix}:probe`, '1', 'PX', 60_000),
    isOutage: () => true,
    isAvailable: (error) => error instanceof NotKept,
    log,
  });
  redis.on('error', (error) => void circuit.probeAfter(error));

  const append = async (deliveries: readonly SpilledDelivery[]) => {
    // Until PostgreSQL was reached, the environment alone says whose the stream is.
    if (claim.isOfAnother()) throw new NotKept(ofAnother.detail);
    await durability.commit((pipeline) => {
      for (const { id, family, receivedAt, body } of deliveries)
        pipeline.xadd(stream, '*', 'id', id, 'family', family, 'received_at', receivedAt, 'body', body);
    });
  };

  return {
    opening: durability.opening,
    circuit,
    get state() {
      if (circuit.isOpen) return isAway;
      return claim.isOfAnother() ? ofAnother : durability.state;
    },
    append: (deliveries) => circuit.run(() => append(deliveries)),
    read: async (count, after) => {
      if (redis.status !== 'ready' || !(await claim.renew())) return [];
      const entries = await redis.xrangeBuffer(stream, after ? `(${after}` : '-', '+', 'COUNT', count);
      return (entries as [Buffer, Buffer[]][]).map(toEntry);
    },
    remove: async (entries) => {
      if (entries.length > 0) await redis.xdel(stream, ...entries.map(({ entryId }) => entryId));
    },
    waiting: async () => {
      const [first] = await redis.xrange(stream, '-', '+', 'COUNT', 1);
      return { count: await redis.xlen(stream), oldest: first && new Date(storedAt(first[0])) };
    },
    close: () => {
      closing.abort();
      durability.stop();
      circuit.stop();
      redis.disconnect();
    },
  };
}

const ofAnother: FallbackState = {
  acknowledges: false,
  detail: 'another database uses this Redis with the same QUEUE_PREFIX: nothing is stored in it, nor drained',
  todo: 'Set another QUEUE_PREFIX for this database',
};

/** In ms since 1970. */
const storedAt = (entryId: string) => Number.parseInt(entryId, 10);

/** Claims the stream for this database, until the signal. @returns `renew`: whether the stream is this database's */
function keepClaimed(redis: Redis, owner: string, options: FallbackOptions, signal: AbortSignal) {
  const { config, identity, log } = options;
  let database: string | undefined;
  let isOfAnother = false;

  /** @throws Redis's error */
  const renew = async (): Promise<boolean> => {
    if (database === undefined) return false;
    const taking = redis.pipeline().set(owner, database, 'EX', ownerExpiresS, 'NX').get(owner);
    const [, [error, holder] = [new Error('Redis dropped the pipeline.'), null]] =
      (await taking.exec()) ?? [];
    if (error) throw error;
    // A full Redis has refused the key.
    const isOwn = holder === database || holder === null;
    if (isOwn) await redis.expire(owner, ownerExpiresS);
    else if (!isOfAnother) log.error({ own: database, other: holder }, ofAnother.detail);
    isOfAnother = !isOwn;
    return isOwn;
  };
  const keep = async () => {
    database = await identity;
    while (!signal.aborted) {
      await renew().catch(() => {}); // the circuit reports outages
      await pause(config.times.claimEveryMs, signal);
    }
  };
  keep().catch((err) => log.debug({ err }, 'the identity of the database is not known'));
  return { renew, isOfAnother: () => isOfAnother };
}

/** An entry of another program may lack fields: its bytes are drained, into the quarantine. */
function toEntry([id, values]: [Buffer, Buffer[]]): SpilledEntry {
  const entryId = id.toString();
  const field = (name: string) => {
    const at = values.findIndex((value, index) => index % 2 === 0 && value.toString() === name);
    return at < 0 ? undefined : values[at + 1];
  };
  const receivedAt = Number(field('received_at')?.toString());
  return {
    entryId,
    id: field('id')?.toString() ?? '',
    family: field('family')?.toString() ?? '',
    receivedAt: Number.isSafeInteger(receivedAt) && receivedAt > 0 ? receivedAt : storedAt(entryId) * 1000,
    body: field('body') ?? Buffer.concat(values),
  };
}
