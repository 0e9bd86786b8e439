import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Log } from '../common/log.ts';
import { holdOlderLock, type OlderLock, usesOlderLocks } from './older-locks.ts';
import type { Db } from './tables.ts';

/** How long a process that shows no sign of life keeps others from its work. */
const defaultLeaseMs = 15_000;
const waitForGivingBackMs = 2_000;

/** Raised where another process has taken over the work meanwhile. */
export class LeaseLost extends Error {
  constructor(name: string) {
    super(`Another process has taken over: ${name}`);
    this.name = 'LeaseLost';
  }
}

/** The right to do some work alone. */
export interface Lease {
  /** Aborted with LeaseLost once another process has the lease, or may have it. */
  readonly signal: AbortSignal;
  /**
   * The last statement of a transaction: the transaction can be committed only while nobody has taken over.
   *
   * @throws LeaseLost; 40001 in a transaction with one snapshot; the database's error
   */
  fence(tx: Db): Promise<void>;
}

/** A step in a transaction that is not committed once another process has taken over. */
export type Fence = (tx: Db) => Promise<void>;

export interface LeaseOptions {
  log?: Pick<Log, 'debug'>;
  leaseMs?: number;
  /** Whether processes of an older version may do the same work, see older-locks.ts. Default: looked up. */
  besideOlder?: boolean;
}

export type Leases = ReturnType<typeof createLeases>;

interface Held extends Lease {
  name: string;
  holder: string;
  /** By the clock of `performance.now()`. */
  validUntil: number;
  besideOlder: boolean;
  lose: () => void;
}

/**
 * Exclusive work of one process of a database. A lease is a row with a time, by the database's clock, which is prolonged while
 * the work runs. No transaction is open meanwhile. A process that is frozen loses its lease when the time is over; the token,
 * which grows with each lease of the name, then keeps it from committing what it had begun.
 *
 * @param db with at least two connections
 * @param options `leaseMs`: the same in all processes
 */
export function createLeases(db: Db, { log, leaseMs = defaultLeaseMs, besideOlder }: LeaseOptions = {}) {
  const renewMs = leaseMs / 3;
  const length = sql`${leaseMs} * interval '1 millisecond'`;
  // A time that is further ahead is from before the database's clock was set back.
  const isHeld = sql`l.until between clock_timestamp() and clock_timestamp() + ${length}`;
  const seesOlder = (name: string) =>
    besideOlder === undefined ? usesOlderLocks(name) : sql<boolean>`${sql.lit(besideOlder)}`;
  const kept = new Map<string, Held>();
  const running = new Set<string>();
  let isClosed = false;

  /** Reads only, so that whoever waits for its turn writes nothing. */
  const isFree = async (name: string): Promise<boolean> => {
    const { rows } = await sql<{ known: boolean; held: boolean }>`
      select exists (select from lease_tokens where name = ${name}) as known,
             exists (select from leases l where l.name = ${name} and ${isHeld}) as held`.execute(db);
    const { known, held } = rows[0]!;
    if (!known)
      await sql`insert into lease_tokens (name) values (${name}) on conflict do nothing`.execute(db);
    return !held;
  };

  const take = async (name: string): Promise<Held | undefined> => {
    if (!(await isFree(name))) return undefined;
    const holder = randomUUID();
    const began = performance.now();
    // Whose transaction is being committed has the lease: its token is locked. A restored database gives no token again.
    const { rows } = await sql<{ token: string; besideOlder: boolean }>`
      with free as (
        select name from lease_tokens where name = ${name} for no key update skip locked
      ), taken as (
        insert into leases as l (name, holder, until) select name, ${holder}::uuid, clock_timestamp() + ${length} from free
        on conflict (name) do update set holder = excluded.holder, until = excluded.until where not (${isHeld})
        returning name
      )
      update lease_tokens t
      set token = greatest(t.token + 1, floor(extract(epoch from clock_timestamp()) * 1000))
      from taken where t.name = taken.name
      returning t.token, ${seesOlder(name)} as "besideOlder"`.execute(db);
    const [row] = rows;
    if (!row) return undefined;
    const losing = new AbortController();
    const { signal } = losing;
    setMaxListeners(0, signal);
    const lose = () => losing.abort(new LeaseLost(name));
    const fence = async (tx: Db) => {
      signal.throwIfAborted();
      const { rows: mine } = await sql`
        select from lease_tokens where name = ${name} and token = ${row.token}::bigint for share`.execute(tx);
      if (mine.length > 0) return;
      lose();
      throw signal.reason;
    };
    return { name, holder, validUntil: began + leaseMs, besideOlder: row.besideOlder, signal, lose, fence };
  };

  /** @throws the database's error */
  const renew = async (lease: Held): Promise<void> => {
    const { name, holder } = lease;
    const began = performance.now();
    const { rows } = await sql<{ besideOlder: boolean }>`
      update leases l set until = clock_timestamp() + ${length} where l.name = ${name} and l.holder = ${holder}::uuid
      returning ${seesOlder(name)} as "besideOlder"`.execute(db);
    if (rows.length === 0) return lease.lose();
    lease.validUntil = began + leaseMs;
    lease.besideOlder = rows[0]!.besideOlder;
  };

  /** The kept lease of the last run, if it is still this process's. */
  const findKept = async (name: string): Promise<Held | undefined> => {
    const lease = kept.get(name);
    if (!lease) return undefined;
    const leftMs = lease.validUntil - performance.now();
    if (leftMs <= 0) lease.lose();
    else if (leftMs <= renewMs) await renew(lease);
    if (!lease.signal.aborted) return lease;
    kept.delete(name);
    return undefined;
  };

  const giveBack = async (...given: readonly Held[]): Promise<void> => {
    const holders = given.filter(({ signal }) => !signal.aborted).map(({ holder }) => holder);
    if (holders.length === 0) return;
    await sql`update leases set until = '-infinity' where holder = any(${holders}::uuid[])`
      .execute(db)
      .catch((error) => log?.debug({ err: error }, 'a lease was not given back: it ends by itself'));
  };

  /** Renews a lease until the returned function is called. */
  const keepRenewed = (lease: Held, older: OlderLock | undefined): (() => void) => {
    const ending = new AbortController();
    const { signal } = ending;
    const pause = async (ms: number) => sleep(Math.max(0, ms), undefined, { signal, ref: false });
    const left = () => lease.validUntil - performance.now();
    const renewing = async () => {
      for (let ms = Math.min(renewMs, left() - renewMs); !lease.signal.aborted; ) {
        await pause(ms);
        ms = renewMs;
        await Promise.all([renew(lease), older?.renew()]).catch((error) => {
          log?.debug({ err: error, lease: lease.name }, 'a lease was not renewed');
          ms = renewMs / 5;
        });
      }
    };
    // Beside it: a statement without an answer must not delay it.
    const watching = async () => {
      while (left() > 0) await pause(left());
      lease.lose();
    };
    for (const one of [renewing(), watching()]) one.catch(() => {}); // ended
    return () => ending.abort();
  };

  return {
    /**
     * Runs a function while no other process, and no other call, runs one by this name.
     *
     * @param options `keep`: for frequent work: the lease is not given back after it; a run within its time needs no statement
     * @returns the function's result; undefined where another has the lease
     * @throws the function's error, or the database's
     */
    run: async <T>(
      name: string,
      work: (lease: Lease) => Promise<T>,
      { keep = false }: { keep?: boolean } = {},
    ): Promise<T | undefined> => {
      if (running.has(name)) return undefined;
      running.add(name);
      try {
        const lease = (await findKept(name)) ?? (await take(name));
        if (!lease) return undefined;
        const older = lease.besideOlder ? await holdOlderLock(db, name) : undefined;
        const end = keepRenewed(lease, older);
        try {
          if (older?.isBusy) return undefined;
          return await work(lease);
        } finally {
          end();
          await older?.release();
          kept.delete(name);
          if (keep && !isClosed && !lease.signal.aborted) kept.set(name, lease);
          else await giveBack(lease);
        }
      } finally {
        running.delete(name);
      }
    },
    /** Gives back what is kept; another process can go on at once. */
    close: async (): Promise<void> => {
      isClosed = true;
      const given = [...kept.values()];
      kept.clear();
      await Promise.race([giveBack(...given), sleep(waitForGivingBackMs, undefined, { ref: false })]);
    },
  };
}
