import { sql } from 'kysely';
import type { Db, QuarantineReason } from '../store/tables.ts';

/** Selects rows; undefined fields do not filter. */
export interface QuarantineFilter {
  id?: string | undefined;
  path?: string | undefined;
  reason?: QuarantineReason | undefined;
  /** A value of `faultsKey`. */
  faults?: string | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
  /** Includes replayed rows. */
  replayed?: boolean | undefined;
  /** `false`: without the rows in whose place a correction is replayed. */
  corrected?: false | undefined;
}

export async function countQuarantine(db: Db, filter: QuarantineFilter): Promise<number> {
  const { rows } = await matching(db, filter)
    .select(({ fn }) => fn.countAll<string>().as('rows'))
    .executeTakeFirstOrThrow();
  return Number(rows);
}

/** Matching rows with their bodies, in the order of their ids, read in pages. */
export async function* readQuarantine(db: Db, filter: QuarantineFilter, page = 100) {
  let last: { id: string } | undefined;
  do {
    let query = matching(db, filter)
      .select(['id', 'path', 'reason', 'body', 'delivery_id'])
      .orderBy('id')
      .limit(page);
    if (last) query = query.where('id', '>', last.id);
    const rows = await query.execute();
    yield* rows;
    last = rows.at(-1);
  } while (last);
}

/** Marks a row as replayed, and the one that it corrects. */
export async function markReplayed(db: Db, id: string): Promise<void> {
  await sql`
    update quarantine set replayed_at = now()
    where id = ${id}::uuid or id = (select corrects from quarantine where id = ${id}::uuid)`.execute(db);
}

const droppedPerStatement = 10_000;

/** In steps, so that no statement takes long. @returns the number of deleted rows */
export async function dropQuarantine(db: Db, filter: QuarantineFilter): Promise<number> {
  const ids = matching(db, filter).select('id').limit(droppedPerStatement);
  let dropped = 0;
  for (;;) {
    const { numDeletedRows } = await db.deleteFrom('quarantine').where('id', 'in', ids).executeTakeFirst();
    dropped += Number(numDeletedRows);
    if (Number(numDeletedRows) < droppedPerStatement) return dropped;
  }
}

const isUncorrected = sql<boolean>`not exists (select from quarantine as one where one.corrects = quarantine.id and one.corrects is not null)`;

/** Groups rows by their list of faults. */
export const faultsKey = sql<string>`md5(errors::text)`;

/** The query of the rows that a filter selects. */
export function matching(db: Db, filter: QuarantineFilter) {
  const { id, path, reason, faults, since, until, replayed, corrected } = filter;
  let query = db.selectFrom('quarantine');
  if (id) query = query.where('id', '=', id);
  if (path) query = query.where('path', '=', path);
  if (reason) query = query.where('reason', '=', reason);
  if (faults) query = query.where(faultsKey, '=', faults);
  if (since) query = query.where('last_received_at', '>=', since);
  if (until) query = query.where('last_received_at', '<', until);
  if (!replayed) query = query.where('replayed_at', 'is', null);
  if (corrected === false) query = query.where(isUncorrected);
  return query;
}
