import { type RawBuilder, sql } from 'kysely';
import { idAt } from '../common/uuid.ts';
import { isNotBlocked } from '../store/blocked-deliveries.ts';
import { isDamaged } from '../store/faults.ts';
import type { Db } from '../store/tables.ts';
import { withPlanForAnySize } from '../store/transactions.ts';

/** After which delivery a step begins: in the order of ids or, with the time of receipt, in that of arrivals. */
export interface Place {
  id: string;
  receivedAt?: string | undefined;
}

/** What a step has compared. */
export interface Compared {
  /** Where the next step begins; undefined: nothing follows. */
  next: Place | undefined;
  /** Rows of inbox without a state, or with several. */
  unsettled: string[];
  /** States without a row of inbox. */
  lost: string[];
  /** What could not be read begins here, because a page is damaged. */
  damaged?: { place: Place; code: string };
}

const states = ['pending_deliveries', 'applied_deliveries', 'failed_deliveries'];

/** What a running erasure lists is its own, and what is set aside is tried alone. */
const isFree = sql`
  not exists (select from erasing e where e.id = w.id) and ${sql.raw(isNotBlocked('w.id'))}`;

/** How many days ago a delivery was received that is looked at often. */
const recentDays = 3;

/** As that of the index inbox_late. */
const isLate = sql`event_time at time zone 'UTC' < (received_at at time zone 'UTC') - interval '1 day'`;

export const beginning: Place = { id: '00000000-0000-0000-0000-000000000000' };

/** Before the events of what arrived in the last days, but for late arrivals: these are a day late at least. */
export const recentBeginning = (now = Date.now()): Place => ({
  id: idAt(new Date(now - (recentDays + 1) * 86_400_000)),
});

export const lateBeginning: Place = { ...beginning, receivedAt: '-infinity' };

/**
 * Compares rows of inbox with the tables of states, from a place on, by indexes alone. Where a page is damaged, the step
 * is made smaller, and what cannot be read is passed over.
 *
 * @param size how many rows of a table a step reads at most
 * @throws the database's error
 */
export async function compareStates(db: Db, place: Place, size: number): Promise<Compared> {
  const compare = place.receivedAt === undefined ? compareIds : compareLate;
  let damaged: Compared['damaged'];
  let [from, rows] = [place, size];
  for (let aheadMs = 1_000; ; ) {
    try {
      const compared = await withPlanForAnySize(db, (tx) => compare(tx, from, rows));
      return { ...compared, ...(damaged && { damaged }) };
    } catch (error) {
      if (!isDamaged(error)) throw error;
      damaged ??= { place: from, code: (error as { code: string }).code };
      if (rows > 1) {
        rows = Math.ceil(rows / 10);
        continue;
      }
      const ahead = await passOver(db, from, aheadMs);
      if (!ahead) return { next: undefined, unsettled: [], lost: [], damaged };
      from = ahead;
      aheadMs *= 2;
    }
  }
}

async function compareIds(tx: Db, { id }: Place, size: number): Promise<Compared> {
  const last = (table: string) => sql`(
    select id from ${sql.table(table)} where id > ${id}::uuid order by id offset ${size - 1} limit 1)`;
  const ids = (table: string, isRow: boolean) => sql`
    select id, ${sql.lit(isRow)} as is_row from ${sql.table(table)}
    where id > ${id}::uuid and id <= coalesce((select id from last), 'ffffffff-ffff-ffff-ffff-ffffffffffff')`;
  const { rows } = await sql<{ last: string | null; unsettled: string[]; lost: string[] }>`
    with last as materialized (
      select least(${sql.join(['inbox', ...states].map(last))}) as id
    ), wrong as materialized (
      select id, bool_or(is_row) as has_row
      from (${ids('inbox', true)} ${sql.join(
        states.map((table) => sql`union all ${ids(table, false)}`),
        sql` `,
      )}) as found
      group by id having count(*) <> 2 or not bool_or(is_row)
    )
    select (select id from last) as last,
      array(select id from wrong w where has_row and ${isFree} order by id) as unsettled,
      array(select id from wrong where not has_row order by id) as lost`.execute(tx);
  const { last: next, unsettled, lost } = rows[0]!;
  return { next: next === null ? undefined : { id: next }, unsettled, lost };
}

async function compareLate(tx: Db, { id, receivedAt }: Place, size: number): Promise<Compared> {
  const numberOfStates = sql.join(
    states.map((table) => sql`(select count(*) from ${sql.table(table)} s where s.id = w.id)`),
    sql` + `,
  );
  const { rows } = await sql<{ id: string | null; at: string | null; read: number; unsettled: string[] }>`
    with part as materialized (
      select received_at, id from inbox
      where ${isLate} and received_at >= now() - ${recentDays} * interval '1 day'
        and (received_at, id) > (${receivedAt}::timestamptz, ${id}::uuid)
      order by received_at, id limit ${size}
    ), last as materialized (select received_at, id from part order by received_at desc, id desc limit 1)
    select (select id from last) as id, (select ${asText(sql`received_at`)} from last) as at,
      (select count(*)::int from part) as read,
      array(select id from part w where ${numberOfStates} <> 1 and ${isFree} order by id) as unsettled`.execute(
    tx,
  );
  const [row] = rows;
  const hasMore = row!.read === size;
  return {
    next: hasMore ? { id: row!.id!, receivedAt: row!.at! } : undefined,
    unsettled: row!.unsettled,
    lost: [],
  };
}

/** A time that every session reads alike. */
const asText = (time: RawBuilder<unknown>) =>
  sql`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US"Z"')`;

/** A place that is ahead of one by some milliseconds; undefined: it is in the future. */
async function passOver(db: Db, { id, receivedAt }: Place, ms: number): Promise<Place | undefined> {
  const eventMs = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
  const time =
    receivedAt === undefined
      ? sql`to_timestamp(${eventMs / 1000}::float8)`
      : sql`
    greatest(${receivedAt}::timestamptz, now() - ${recentDays} * interval '1 day')`;
  const { rows } = await sql<{ at: string; ms: number; isPast: boolean }>`
    select ${asText(sql`ahead`)} as at, floor(extract(epoch from ahead) * 1000)::float8 as ms,
           ahead < now() + interval '2 days' as "isPast"
    from (select ${time} + ${ms} * interval '1 millisecond' as ahead) as moved`.execute(db);
  const [row] = rows;
  if (!row!.isPast) return undefined;
  return receivedAt === undefined ? { id: idAt(new Date(row!.ms)) } : { ...beginning, receivedAt: row!.at };
}

/**
 * Lists states whose row of inbox is gone as lost deliveries. They stay as they are.
 *
 * @returns those that were not listed before
 */
export async function listAsLost(db: Db, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<{ id: string }>`
    insert into lost_deliveries (id, family, received_at, lost_from)
    select distinct on (id) id, family, received_at, 'inbox' from (
      ${sql.join(
        states.map(
          (table) =>
            sql`select id, family, received_at from ${sql.table(table)} where id = any(${ids}::uuid[])`,
        ),
        sql` union all `,
      )}
    ) as found
    where not exists (select from inbox i where i.id = found.id)
    order by id, received_at
    on conflict (id) do nothing
    returning id`.execute(db);
  return rows.map(({ id }) => id);
}

/** Deliveries that were received again, or whose rows were restored, are not lost. @returns their number */
export async function forgetFound(db: Db): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from lost_deliveries l where exists (select from inbox i where i.id = l.id)`.execute(db);
  return Number(numAffectedRows);
}
