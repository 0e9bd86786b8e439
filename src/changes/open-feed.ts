import { sql } from 'kysely';
import { afterStatementsInProgress, lockErasures } from '../privacy/erasure/erasure-lock.ts';
import type { Db } from '../store/tables.ts';
import type { Seen } from './cursor.ts';

/**
 * Opens the feed of changes, if it is not: from then on every transaction records what it changes. Otherwise it notes that the
 * feed is served.
 *
 * @throws ErasureDelayed where the statements in progress do not end in time
 */
export async function openFeed(db: Db): Promise<void> {
  await sql`
    insert into change_feed (place, server_started_at)
    values (place_of_changes(), pg_postmaster_start_time())
    on conflict (only_row) do update set served_at = now()`.execute(db);
  const { rows: first } = await sql`select from changes limit 1`.execute(db);
  if (first.length === 0) {
    // Its versions are greater than those of a feed that was closed. What began before may record nothing; it is seen in the tables by whoever reads from the first position on.
    await afterStatementsInProgress(db);
    await db.transaction().execute(async (tx) => {
      await lockErasures(tx);
      await sql`
        insert into changes (position, kind, changed_at, families, business_ids, ids)
        select floor(extract(epoch from now()) * 1000), 'changed', now(), '{}', '{}', '{}'
        where not exists (select from changes)`.execute(tx);
    });
  }
}

/** Lets the database to which all of this one is copied go on with the feed: cursors stay known there. */
export const keepEpoch = (db: Db): Promise<unknown> => sql`update change_feed set place = null`.execute(db);

/** Raised where the feed was closed, because no process had served it for a week. */
export class FeedClosed extends Error {}

/**
 * Gives positions to what is committed.
 *
 * @param everything for the first call of a process
 * @returns the last position: everything that was committed before the call is not after it
 * @throws FeedClosed
 */
export async function numberChanges(db: Db, everything = false): Promise<Seen> {
  for (;;) {
    const { rows } = await sql<{ head: string | null; head_tag: string; complete: boolean }>`
      select head, head_tag, complete from number_changes(${everything})`.execute(db);
    const { head, head_tag: tag, complete } = rows[0]!;
    if (head === null) throw new FeedClosed();
    if (complete) return { position: Number(head), tag };
  }
}

const keptDays = 30;
const unservedDays = 7;

/**
 * Deletes positions that are older than a month, except for the last of them, by which a cursor is known; all of them, and the
 * feed, if nobody has served it for a week.
 */
export async function trimFeed(db: Db): Promise<void> {
  await db.transaction().execute(async (tx) => {
    // A position that is being given would stay, and the next opening take the feed for open.
    await sql`lock table change_feed in share update exclusive mode`.execute(tx);
    await sql`
      with closed as (
        delete from change_feed where served_at < now() - ${unservedDays} * interval '1 day' returning 1
      ), forgotten as (
        delete from changed_records where exists (select from closed)
      )
      delete from changes where exists (select from closed)`.execute(tx);
  });
  await sql`
    delete from changes
    where position < (select max(position) from changes where changed_at < now() - ${keptDays} * interval '1 day')`.execute(
    db,
  );
}
