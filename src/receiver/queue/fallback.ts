import { once } from 'node:events';
import type { SpilledDelivery } from '../../callbacks/delivery.ts';
import type { Config } from '../../common/config/config.ts';
import { errorLogger, type Log } from '../../common/log.ts';
import { withTimeout } from '../../common/timeouts.ts';
import { StoreUnavailable } from '../store/circuit.ts';
import { commit, type FallbackState, readState } from './durability.ts';
import { connectProducer, keyPrefix } from './redis.ts';

export interface SpilledEntry extends SpilledDelivery {
  entryId: string;
}

export interface Fallback {
  /** Resolves once Redis is there, or is away. */
  opening: Promise<unknown>;
  /** Whether Redis takes deliveries now, and keeps them. Never throws. */
  check: () => Promise<FallbackState>;
  /** @throws StoreUnavailable where they are not surely kept; some may be stored nevertheless */
  append: (deliveries: readonly SpilledDelivery[]) => Promise<void>;
  /** Claims the entries for a database for five minutes; then none goes to another's. @returns whether they are its own @throws Redis's error */
  claim: (database: string) => Promise<boolean>;
  /** The oldest entries behind one, at most `count`. @throws Redis's error */
  read: (count: number, after?: string) => Promise<SpilledEntry[]>;
  /** @throws Redis's error */
  remove: (entries: readonly SpilledEntry[]) => Promise<void>;
  /** By Redis's clock. @throws Redis's error */
  waiting: () => Promise<{ count: number; oldest: Date | undefined }>;
  close: () => void;
}

export const isAway: FallbackState = {
  acknowledges: false,
  detail: 'Redis is unavailable, or full',
  todo: '',
};
const ownerExpiresS = 300;

/**
 * Keeps deliveries while PostgreSQL is unavailable: a stream in Redis with one entry per delivery, which is removed only once it
 * is in the database. One database drains it, so that a copy of it does not take the deliveries.
 */
export function createFallback({ url, config, log }: { url: string; config: Config; log: Log }): Fallback {
  const timeoutMs = config.times.redisMs;
  const prefix = keyPrefix(config.queuePrefix);
  const stream = `${prefix}:fallback`;
  const owner = `${prefix}:owner`;
  const report = errorLogger(log, 'warn', 'Redis as the fallback store is unavailable');
  const redis = connectProducer(url, timeoutMs).on('error', report);
  /** The database that this process has claimed the entries for. */
  let own: string | undefined;
  const claim = async (database: string) => {
    own = database;
    const taking = redis.pipeline().set(owner, database, 'EX', ownerExpiresS, 'NX').get(owner);
    const [, [error, holder] = [new Error('Redis dropped the pipeline.'), null]] =
      (await taking.exec()) ?? [];
    if (error) throw error;
    // A full Redis has refused the key.
    const isOwn = holder === database || holder === null;
    if (isOwn) await redis.expire(owner, ownerExpiresS);
    else log.limited('error', {}, ofAnother, { own: database, other: holder });
    return isOwn;
  };
  const isOfAnother = async () => own !== undefined && !(await claim(own));

  return {
    opening: once(redis, 'ready').catch(() => {}), // reported
    check: async () => {
      try {
        // A full Redis, or one that has become a replica, refuses it.
        await redis.set(`${prefix}:probe`, '1', 'PX', 60_000);
        if (await isOfAnother()) return { acknowledges: false, detail: ofAnother, todo: '' };
        return await readState(redis, config);
      } catch {
        return isAway;
      }
    },
    append: async (deliveries) => {
      const add = async () => {
        if (await isOfAnother()) throw new StoreUnavailable('Redis', new Error(ofAnother));
        await commit(redis, config, (pipeline) => {
          for (const { id, family, receivedAt, body } of deliveries)
            pipeline.xadd(stream, '*', 'id', id, 'family', family, 'received_at', receivedAt, 'body', body);
        });
      };
      await withTimeout(timeoutMs, add()).catch((error) => {
        report(error);
        throw error instanceof StoreUnavailable ? error : new StoreUnavailable('Redis', error);
      });
    },
    claim,
    read: async (count, after) => {
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
    close: () => redis.disconnect(),
  };
}

const ofAnother =
  'another database uses this Redis with the same QUEUE_PREFIX: nothing is stored there or drained; set another QUEUE_PREFIX for this one';

/** In ms since 1970. */
const storedAt = (entryId: string) => Number.parseInt(entryId, 10);

function toEntry([entryId, values]: [Buffer, Buffer[]]): SpilledEntry {
  const value = (name: string) =>
    values[values.findIndex((field, at) => at % 2 === 0 && field.toString() === name) + 1]!;
  return {
    entryId: entryId.toString(),
    id: value('id').toString(),
    family: value('family').toString(),
    receivedAt: Number(value('received_at')),
    body: value('body'),
  };
}
