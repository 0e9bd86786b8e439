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
const maxAttempts = 10;

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

/** A database by itself: what it would write to the key, and the token before. */
export interface Own extends Holder {
  /** Redis has it where the process that wrote the present one has not reached Redis yet. */
  previous: string | null;
}

/** The description of a database by itself. */
export async function readOwn(db: Db): Promise<Own> {
  const { rows } = await sql<Own>`
    select concat_ws('/', system_identifier, d.oid, extract(epoch from pg_postmaster_start_time())) as place,
           i.token, i.previous_token as previous,
           concat(coalesce(host(inet_server_addr()), 'socket'), ':', current_setting('port'), '/', d.datname,
             (select ' in ' || setting from pg_settings where name = 'data_directory')) as server
    from database_identity i, pg_control_system(), pg_database d
    where d.datname = current_database()`.execute(db);
  return rows[0]!;
}

/** Whether the database has written this holder's token, or one of which that database does not know yet. */
export const isSameDatabase = ({ place, token }: Holder, own: Own) =>
  place === own.place || token === own.token || token === own.previous;

/** When a database is drained into that has not the last token, if the holder shows no sign of life: undefined while it does. */
export function endOf(leftMs: number): Date | undefined {
  return leftMs > 0 && leftMs < expiresAfterMs - silentMs ? new Date(Date.now() + leftMs) : undefined;
}

/**
 * Lets one of several databases with the same identity drain the fallback store: a copy that runs beside its original
 * would take the deliveries of the original. Every process keeps the lease in Redis for the server that it is connected to.
 *
 * Each renewal writes a new token to the database, and then to Redis. So what has the last token, or the one before, is the
 * database that had the lease, restarted, moved or promoted; a copy has an older one, and waits until the lease expires. So does
 * a restored backup, which nothing tells from a copy. A process whose own connection leads to another server than before has
 * seen the switch, and takes the lease along.
 *
 * No lock is held meanwhile. A token is replaced only where nobody has replaced it since it was read, in the database and in
 * Redis, and a new one is written to the database only once Redis has the last one: so what Redis has is one of the two,
 * wherever a process is frozen or ends.
 */
export function createDrainLease(redis: RedisClient, key: string, db: Db, log: Log) {
  /** The place for which this process has last had the lease. */
  let place: string | undefined;
  let other: Holder | undefined;
  let drainsAt: Date | undefined;

  const noteRival = (rival: Holder | undefined, own: Holder, leftMs = 0) => {
    const endsAt = rival && endOf(leftMs);
    if (rival && !other) {
      log.error(
        { other: rival.server, own: own.server },
        'another database with the same identity uses this Redis, so deliveries are not drained from it: give a copy its ' +
          'own QUEUE_PREFIX or Redis',
      );
    } else if (!rival && other) {
      log.warn({ own: own.server }, 'the other database with the same identity has given way');
    }
    if (endsAt && !drainsAt) {
      log.warn(
        { other: rival.server, own: own.server, from: endsAt.toISOString() },
        'the other database shows no sign of life: if it was replaced by this one, a restored backup, deliveries are drained ' +
          'from this time on',
      );
    }
    other = rival;
    drainsAt = endsAt;
  };

  /** Writes a new token to the database. @returns it; undefined where another process has written one */
  const replaceToken = async (token: string): Promise<string | undefined> => {
    const next = randomUUID();
    // No process waits for a standby.
    const { numAffectedRows } = await sql`
      update database_identity set previous_token = token, token = ${next}::uuid
      from (select set_config('synchronous_commit', 'local', true) as mode) as this_statement
      where token = ${token}::uuid and mode = 'local'`.execute(db);
    return numAffectedRows === 1n ? next : undefined;
  };

  /** @returns whether this database has the lease; undefined: another process is writing it */
  const attempt = async (isAgain: boolean): Promise<boolean | undefined> => {
    const { previous, ...own } = await readOwn(db);
    const [held, leftMs] = await Promise.all([redis.get(key), redis.pttl(key)]);
    const holder = parseHolder(held);
    const isLate = holder !== undefined && holder.token === previous && holder.token !== own.token;
    const hasToken = holder?.token === own.token || isLate;
    const isOwn = !holder || holder.place === own.place || holder.place === place;
    if (!isOwn && !(hasToken && leftMs < expiresAfterMs - silentMs)) {
      noteRival(hasToken ? undefined : holder, own, leftMs);
      return false;
    }
    const isRenewed = isAgain && hasToken && holder?.place === own.place;
    if (!isRenewed) {
      const token = isLate ? own.token : await replaceToken(own.token);
      if (!token) return undefined;
      const value = JSON.stringify({ ...own, token } satisfies Holder);
      if ((await redis.eval(replace, 1, key, held ?? '', value, expiresAfterMs)) !== 1) return undefined;
    }
    place = own.place;
    noteRival(undefined, own);
    return true;
  };

  /**
   * Takes or renews the lease.
   *
   * @returns whether this database has it
   * @throws the database's error, or Redis's
   */
  const renew = async (): Promise<boolean> => {
    for (let attempts = 0; attempts < maxAttempts; attempts += 1) {
      const has = await attempt(attempts > 0);
      if (has !== undefined) return has;
    }
    throw new Error('Other processes write the lease of the fallback store all the time.');
  };

  const prolong = async () => {
    if (parseHolder(await redis.get(key))?.place === place) await redis.expire(key, expiresAfterMs / 1000);
  };

  return {
    renew,
    /** Another database with this identity, which has the lease. */
    get rival(): string | undefined {
      return other?.server;
    },
    /** When this one gets the lease if the other goes on showing no sign of life. */
    get drainsAt(): Date | undefined {
      return drainsAt;
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
