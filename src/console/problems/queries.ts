import { sql } from 'kysely';
import { faultsKey, type QuarantineRow, readDropped } from '../../intake/quarantine-rows.ts';
import { readCauses } from '../../store/refusals.ts';
import type { Db } from '../../store/tables.ts';
import { rejectedByReason } from '../rejections/queries.ts';
import { read } from '../store.ts';

interface Counted {
  count: number;
  first: Date;
  last: Date;
  /** How many have a note, or were marked as seen. */
  seen: number;
}

interface FailedGroup extends Counted {
  family: string;
  event: string;
  error: string;
}

/** Failed deliveries by error, the most frequent first. */
const failedGroups = sql<FailedGroup>`
  select family, event, coalesce(error, '') as error, count(*)::int as count,
         min(received_at) as first, max(received_at) as last,
         count(*) filter (where exists (select from notes n where n.subject_id = deliveries.id))::int as seen
  from deliveries where status = 'failed'
  group by family, event, error
  order by count desc, last desc limit 200`;

export interface BodyGroup extends Counted {
  reason: string;
  /** A hash of the errors, see `faultsKey`. */
  key: string;
  faults: QuarantineRow['errors'];
}

/** Groups are of these many bodies, the last received: the time of the page does not grow with the quarantine. */
export const groupedBodies = 10_000;

/** The quarantine by reason and errors, the most frequent first. */
const bodyGroups = sql<BodyGroup>`
  select reason, ${faultsKey} as key, (array_agg(errors))[1] as faults, count(*)::int as count,
         min(received_at) as first, max(last_received_at) as last,
         count(*) filter (where exists (select from notes n where n.subject_id = newest.id))::int as seen
  from (
    select id, reason, errors, received_at, last_received_at from quarantine
    where replayed_at is null order by last_received_at desc limit ${groupedBodies}
  ) newest
  group by reason, ${faultsKey}
  order by count desc, last desc limit 200`;

/** Bodies that were evicted are told of for these many days. */
export const droppedDays = 7;

const dayMs = 86_400_000;

export type Found = Awaited<ReturnType<typeof readCausesOfAll>>;

/** What failed, what lies in the quarantine, and what was rejected in the last 24 hours, by cause. */
export async function readCausesOfAll(db: Db) {
  const since = new Date(Date.now() - dayMs);
  const [groups, bodies, dropped, rejected] = await Promise.all([
    read(db, failedGroups),
    read(db, bodyGroups),
    readDropped(db, droppedDays),
    read(db, rejectedByReason({ since })),
  ]);
  const causes = await readCauses(
    db,
    groups.map(({ error }) => error),
  );
  const failed = groups.map((group, index) => ({ ...group, cause: causes[index]! }));
  return { failed, bodies, dropped, rejected, since };
}
