import { sql } from 'kysely';
import { countQuarantine, faultsKey, type QuarantineRow, readDropped } from '../../intake/quarantine-rows.ts';
import { notesOf } from '../../store/notes.ts';
import type { Db } from '../../store/tables.ts';
import { allOf, read, takePage } from '../store.ts';

export interface QuarantineGroup {
  reason: string;
  /** A hash of the errors, see `faultsKey`. */
  key: string;
  faults: QuarantineRow['errors'];
  bodies: number;
  times: number;
  last: Date;
}

/** Groups are of these many bodies, the last received: the time of the page does not grow with the quarantine. */
export const groupedBodies = 10_000;

/** The quarantine by reason and errors, the most frequent first. */
const quarantineGroups = sql<QuarantineGroup>`
  select reason, ${faultsKey} as key, (array_agg(errors))[1] as faults, count(*)::int as bodies,
         sum(count)::int as times, max(last_received_at) as last
  from (
    select reason, errors, count, last_received_at from quarantine where replayed_at is null order by last_received_at desc limit ${groupedBodies}
  ) newest
  group by reason, ${faultsKey}
  order by bodies desc, last desc limit 200`;

type Columns = 'id' | 'reason' | 'received_at' | 'last_received_at' | 'count' | 'replayed_at' | 'corrects';

/** A body without its content. */
export interface QuarantineLine extends Pick<QuarantineRow, Columns> {
  family: string | null;
  business: string | null;
  bytes: number;
  /** How many notes it has; `seen`: it was only marked. */
  notes: string | null;
}

const columns = sql`
  q.id, p.family, q.business_id as business, q.reason, q.received_at, q.last_received_at,
  q.count, length(q.body) as bytes, q.replayed_at, q.corrects,
  ${notesOf(sql`q.id`)} as notes`;

interface BodyFilter {
  reason?: string | undefined;
  faults?: string | undefined;
  before?: string | undefined;
  since?: Date | undefined;
}

const pageRows = 50;

async function listBodies(db: Db, { reason, faults, before, since }: BodyFilter) {
  const conditions = allOf([
    sql`q.replayed_at is null`,
    reason && sql`q.reason = ${reason}`,
    faults && sql`${faultsKey} = ${faults}`,
    since && sql`q.last_received_at >= ${since}`,
    before &&
      sql`(q.last_received_at, q.id) < (select last_received_at, id from quarantine where id = ${before}::uuid)`,
  ]);
  const { rows } = await sql<QuarantineLine>`
    select ${columns} from quarantine q left join callback_paths p using (path)
    where ${conditions}
    order by q.last_received_at desc, q.id desc limit ${pageRows + 1}`.execute(db);
  return takePage(rows, pageRows);
}

export const droppedDays = 7;

export type Quarantine = Awaited<ReturnType<typeof readQuarantine>>;

/** `total`: the number of bodies, those included that are in no group; `dropped`: in the last days. */
export async function readQuarantine(db: Db, filter: BodyFilter) {
  const [groups, lines, dropped, total] = await Promise.all([
    read(db, quarantineGroups),
    listBodies(db, filter),
    readDropped(db, droppedDays),
    countQuarantine(db, {}),
  ]);
  return { groups, lines: lines.rows, more: lines.more, dropped, total };
}

export type QuarantinedBody = QuarantineLine &
  Pick<QuarantineRow, 'errors' | 'body' | 'path' | 'acknowledged'> & {
    /** The id of the body that corrects it. */
    corrected_by: string | null;
  };

export async function readBody(db: Db, id: string): Promise<QuarantinedBody | undefined> {
  const { rows } = await sql<QuarantinedBody>`
    select ${columns}, q.errors, q.body, q.path, q.acknowledged,
           (select id from quarantine c where c.corrects = q.id and c.corrects is not null order by received_at desc limit 1) as corrected_by
    from quarantine q left join callback_paths p using (path) where q.id = ${id}::uuid`.execute(db);
  return rows[0];
}
