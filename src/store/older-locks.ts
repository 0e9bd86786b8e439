import { sql } from 'kysely';
import type { Db } from './tables.ts';

// Compatibility: processes of versions before the table `leases` exclude each other by advisory locks, which the transaction of a
// connection holds while the work runs. Such a lock can be taken by every role of the database, so it is
// respected only where one of these processes can be the other. This file and the column workers.uses_leases can be deleted once
// no process of such a version can run beside one of this.

const lockKey = (name: string) => sql`hashtext(${sql.lit(`receiver ${name}`)})`;

/** Whether a session has the lock whose role may write our tables: a process of an older version, or one of ours beside it. */
const isHeldByReceiver = (name: string) => sql<boolean>`exists (
  select from pg_locks k join pg_stat_activity a using (pid)
  where k.locktype = 'advisory' and k.objsubid = 1 and k.granted and k.pid <> pg_backend_pid()
    and (k.classid::bigint << 32 | k.objid::bigint) = ${lockKey(name)}
    and k.database = (select oid from pg_database where datname = current_database())
    and has_table_privilege(a.usesysid, 'leases', 'update'))`;

/** Whether a process of an older version may do the work of this name. */
export const usesOlderLocks = (name: string) => sql<boolean>`(
  exists (
    select from workers
    where not uses_leases and seen_at between now() - interval '1 minute' and now() + interval '1 minute'
  ) or ${isHeldByReceiver(name)})`;

export interface OlderLock {
  /** Whether a process of an older version does the work. */
  isBusy: boolean;
  /** Lets the session live: PostgreSQL ends that of a frozen process. */
  renew: () => Promise<unknown>;
  release: () => Promise<unknown>;
}

/**
 * Takes the lock of this name as the versions before did. It belongs to an open transaction, because a connection pooler may
 * give each transaction another session. It has no snapshot, for whose end `create index concurrently` would wait: a
 * statement with parameters would keep its own.
 *
 * @throws the database's error
 */
export async function holdOlderLock(db: Db, name: string): Promise<OlderLock> {
  const tx = await db.startTransaction().setIsolationLevel('read committed').execute();
  const release = () =>
    tx
      .rollback()
      .execute()
      .catch(() => {}); // it ended with its connection
  const without = (isBusy: boolean): OlderLock => ({
    isBusy,
    renew: async () => {},
    release: async () => {},
  });
  try {
    const { rows } = await sql<{ mine: boolean }>`
      select pg_try_advisory_xact_lock(${lockKey(name)}) as mine`.execute(tx);
    if (rows[0]!.mine) return { isBusy: false, renew: () => sql`select 1`.execute(tx), release };
    const held = await sql<{ held: boolean }>`select ${isHeldByReceiver(name)} as held`.execute(tx);
    await release();
    return without(held.rows[0]!.held);
  } catch (error) {
    // Returns the connection, also a broken one: a pool with one that is missing never closes.
    await release();
    throw error;
  }
}
