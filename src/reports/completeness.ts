import { sql } from 'kysely';
import { isLeased } from '../store/lease.ts';

/** How far back the page looks. */
export const shownDays = 90;
export const mostGaps = 200;

export interface Pass {
  /** Empty: it is not known. */
  business: string;
  from: string;
  to: string;
  begun: Date;
  attempted: Date;
  ended: Date | null;
  /** Pages that it has compared, and when the platform was last asked; of one that has ended, none. */
  pages: number;
  /** The last that has ended, of this business. */
  lastEnded: Date | null;
  /** Whether a process compares at the moment. */
  isRunning: boolean;
}

/** The newest pass of each business. */
export const passesQuery = sql<Pass>`
  select distinct on (business_id) business_id as business, from_day::text as from, to_day::text as to, started_at as begun,
    attempted_at as attempted, ended_at as ended,
    (select count(*)::int from reconciliation_pages where reconciliation_id = r.id) as pages,
    (select max(ended_at) from reconciliations where business_id = r.business_id) as "lastEnded",
    ended_at is null and ${isLeased('reconciliation')} as "isRunning"
  from reconciliations r
  order by business_id, attempted_at desc limit 50`;

export interface Gap {
  business: string;
  family: string;
  day: string;
  method: string;
  asOf: Date | null;
  missing: number;
  missingFilled: number;
  differing: number;
  differingFilled: number;
  unknown: number;
}

/** The days on which something was missing, different or unknown, newest first. */
export const gapsQuery = sql<Gap>`
  select business_id as business, family, day::text as day, method, complete_as_of as "asOf", missing_found::int as missing,
    missing_filled::int as "missingFilled", differing_found::int as differing, differing_filled::int as "differingFilled",
    unknown_to_platform::int as unknown
  from reporting.completeness c
  where day > reporting.today() - ${shownDays}::int
    and missing_found + differing_found + unknown_to_platform > 0
  order by c.day desc, business_id, family limit ${mostGaps}`;
