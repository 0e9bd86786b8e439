import { type Selectable, sql } from 'kysely';
import type { Db, QuarantineReason, Tables } from '../store/tables.ts';

export type QuarantineRow = Omit<Selectable<Tables['quarantine']>, 'bytes' | 'business_id'>;

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

const listed = [
  'id',
  'path',
  'reason',
  'errors',
  'received_at',
  'last_received_at',
  'count',
  'replayed_at',
  'acknowledged',
] as const;

/** Rows of the quarantine without their bodies, oldest first. */
export function listQuarantine(db: Db, filter: QuarantineFilter, limit: number) {
  return matching(db, filter).select(listed).orderBy('received_at').orderBy('id').limit(limit).execute();
}

export async function countQuarantine(db: Db, filter: QuarantineFilter): Promise<number> {
  const { rows } = await matching(db, filter)
    .select(({ fn }) => fn.countAll<string>().as('rows'))
    .executeTakeFirstOrThrow();
  return Number(rows);
}

/** Matching rows with their bodies, in the order of their ids, read in pages. */
export async function* readQuarantine(db: Db, filter: QuarantineFilter, page = 100) {
  let last: QuarantineRow | undefined;
  do {
    let query = matching(db, filter)
      .select([...listed, 'body', 'corrects', 'delivery_id'])
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

/** The bodies that the limit has evicted in the last days before they were replayed, by reason. */
export async function readDropped(db: Db, days: number) {
  const { rows } = await sql<{ reason: string; bodies: number; bytes: number; last: Date }>`
    select reason, sum(count)::float8 as bodies, sum(bytes)::float8 as bytes, max(last_at) as last
    from dropped_bodies where day > (now() at time zone 'UTC')::date - ${days}::int
    group by reason order by bodies desc, reason`.execute(db);
  return rows;
}

const isUncorrected = sql<boolean>`not exists (select from quarantine as one where one.corrects = quarantine.id and one.corrects is not null)`;

/** Groups rows by their list of faults. */
export const faultsKey = sql<string>`md5(errors::text)`;

function matching(db: Db, filter: QuarantineFilter) {
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
