import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Log } from '../common/log.ts';
import type { Db } from '../store/tables.ts';
import type { RedisClient } from './redis.ts';

/** The process that drains: the value of a key in Redis. */
export interface Holder {
  /** The running server and the database; the same on every route to it, another after a restart. */
  place: string;
  /** The database's token at that time. */
  token: string;
  /** For people: the address, port and database that the server says it has. */
  server: string;
}

const renewEveryMs = 10_000;
const retryMs = 1_000;
/** A holder that is silent for this long gives way to any other. */
const expiresAfterMs = 300_000;
/** The same to a database that has its last token. */
const silentMs = 1.5 * renewEveryMs;

// Between two commands another database could take the lease.
const replace = `
if (redis.call('get', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`;

export const leaseKey = (prefix: string, databaseId: string) => `${prefix}:drains:${databaseId}`;

/** A value that another program has written names no database. */
export function parseHolder(held: string | null): Holder | undefined {
  try {
    return held ? (JSON.parse(held) as Holder) : undefined;
  } catch {
    return undefined;
  }
}

/** The description of a database by itself. */
export async function readHolder(db: Db, forUpdate = sql``): Promise<Holder> {
  const { rows } = await sql<Holder>`
    select concat_ws('/', system_identifier, d.oid, extract(epoch from pg_postmaster_start_time())) as place,
           i.token, concat(coalesce(host(inet_server_addr()), 'socket'), ':', current_setting('port'), '/', d.datname,
             (select ' in ' || setting from pg_settings where name = 'data_directory')) as server
    from database_identity i, pg_control_system(), pg_database d
    where d.datname = current_database() ${forUpdate}`.execute(db);
  return rows[0]!;
}

/**
 * Lets one of several databases with the same identity drain the fallback store: a copy that runs beside its original
 * would take the deliveries of the original. Every process keeps the lease in Redis for the server that it is connected to.
 *
 * Each renewal writes a new token to the database and to Redis. So what has the last token is the database that had the
 * lease, restarted, moved or promoted; a copy has an older one, and waits until the lease expires. A process whose own
 * connection leads to another server than before has seen the switch, and takes the lease along.
 */
export function createDrainLease(redis: RedisClient, key: string, db: Db, log: Log) {
  /** The place for which this process has last had the lease. */
  let place: string | undefined;
  let other: Holder | undefined;

  const noteRival = (rival: Holder | undefined, own: Holder) => {
    if (rival && !other) {
      log.error(
        { other: rival.server, own: own.server },
        'another database with the same identity uses this Redis, so deliveries are not drained from it: give a copy its ' +
          'own QUEUE_PREFIX or Redis',
      );
    } else if (!rival && other) {
      log.warn({ own: own.server }, 'the other database with the same identity has given way');
    }
    other = rival;
  };

  /**
   * Takes or renews the lease.
   *
   * @returns whether this database has it
   * @throws the database's error, or Redis's
   */
  const renew = (): Promise<boolean> =>
    db.transaction().execute(async (tx) => {
      // One process at a time, none of which waits for a standby.
      await sql`select set_config('synchronous_commit', 'local', true)`.execute(tx);
      const own = await readHolder(tx, sql`for update of i`);
      const [held, leftMs] = await Promise.all([redis.get(key), redis.pttl(key)]);
      const holder = parseHolder(held);
      const hasToken = holder?.token === own.token;
      const isOwn = !holder || holder.place === own.place || holder.place === place;
      if (!isOwn && !(hasToken && leftMs < expiresAfterMs - silentMs)) {
        noteRival(hasToken ? undefined : holder, own);
        return false;
      }
      const next: Holder = { ...own, token: randomUUID() };
      await sql`update database_identity set token = ${next.token}::uuid`.execute(tx);
      const value = JSON.stringify(next);
      if ((await redis.eval(replace, 1, key, held ?? '', value, expiresAfterMs)) !== 1) {
        throw new Error('Another process took the lease of the fallback store.');
      }
      place = own.place;
      noteRival(undefined, own);
      return true;
    });

  const prolong = async () => {
    if (parseHolder(await redis.get(key))?.place === place) await redis.expire(key, expiresAfterMs / 1000);
  };

  return {
    renew,
    /** Another database with this identity, which has the lease. */
    get rival(): string | undefined {
      return other?.server;
    },
    /**
     * Renews the lease until the connection to Redis is closed. While PostgreSQL is unavailable, a lease of its server
     * stays: its deliveries are in Redis, and it comes back.
     */
    keepRenewed: async (): Promise<void> => {
      while (redis.status !== 'end') {
        let pauseMs = renewEveryMs;
        // The circuits report outages.
        await renew().catch(() => {
          pauseMs = retryMs;
          return prolong().catch(() => {});
        });
        await sleep(pauseMs, undefined, { ref: false });
      }
    },
  };
}
