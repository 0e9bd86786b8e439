import { sql } from 'kysely';
import type { FieldError } from '../receiver/intake/rejection.ts';
import { read, takePage } from '../store/read.ts';
import type { Db } from '../store/tables.ts';
import { faultsKey, matching, type QuarantineFilter } from './quarantine-rows.ts';

const columns = [
  'id',
  'path',
  'business_id',
  'reason',
  'errors',
  'received_at',
  'last_received_at',
  'count',
  'replayed_at',
  'acknowledged',
  'corrects',
  sql<number>`length(quarantine.body)`.as('size'),
  sql<string | null>`(select p.family from callback_paths p where p.path = quarantine.path)`.as('family'),
] as const;

/** A page of rejected bodies without their content, last received first; `before`: it begins after that one. */
export async function listQuarantine(db: Db, filter: QuarantineFilter, size: number, before?: string) {
  let query = matching(db, filter)
    .select(columns)
    .orderBy('last_received_at', 'desc')
    .orderBy('id', 'desc')
    .limit(size + 1);
  if (before)
    query = query.where(
      sql<boolean>`(last_received_at, id) <
        (select q.last_received_at, q.id from quarantine q where q.id = ${before}::uuid)`,
    );
  return takePage(await query.execute(), size);
}

export type QuarantinedBody = NonNullable<Awaited<ReturnType<typeof readQuarantined>>>;

/** A rejected body, with the id of the one that corrects it. */
export const readQuarantined = (db: Db, id: string) =>
  matching(db, { id, replayed: true })
    .select([
      ...columns,
      'body',
      sql<string | null>`(
        select c.id from quarantine c where c.corrects = quarantine.id and c.corrects is not null
        order by c.received_at desc limit 1)`.as('corrected_by'),
    ])
    .executeTakeFirst();

/** Groups are of these many bodies, the last received: their time does not grow with the quarantine. */
export const groupedBodies = 10_000;

interface BodyGroup {
  reason: string;
  /** A hash of the errors, see `faultsKey`. */
  key: string;
  faults: FieldError[];
  count: number;
  first: Date;
  last: Date;
}

/** The quarantine by reason and errors, the most frequent first. */
export const groupQuarantine = (db: Db): Promise<BodyGroup[]> =>
  read(
    db,
    sql<BodyGroup>`
      select reason, ${faultsKey} as key, (array_agg(errors))[1] as faults, count(*)::int as count,
             min(received_at) as first, max(last_received_at) as last
      from (
        select reason, errors, received_at, last_received_at from quarantine
        where replayed_at is null order by last_received_at desc limit ${groupedBodies}
      ) newest
      group by reason, ${faultsKey}
      order by count desc, last desc limit 200`,
  );

/** Bodies that were evicted are told of for these many days. */
export const droppedDays = 7;

/** The bodies that the limit has lately evicted before they were replayed, by reason. */
export async function readDropped(db: Db) {
  const { rows } = await sql<{ reason: string; bodies: number; bytes: number; last: Date }>`
    select reason, sum(count)::float8 as bodies, sum(bytes)::float8 as bytes, max(last_at) as last
    from dropped_bodies where day > (now() at time zone 'UTC')::date - ${droppedDays}::int
    group by reason order by bodies desc, reason`.execute(db);
  return rows;
}
