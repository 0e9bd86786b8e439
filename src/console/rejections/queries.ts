import { sql } from 'kysely';
import { allOf } from '../store.ts';

export interface Rejected {
  status: number;
  reason: string;
  /** Whether the path is not a registered one. */
  unrouted: boolean;
  requests: string;
  first: Date;
  last: Date;
}

interface RejectionFilter {
  since: Date;
  until?: Date | undefined;
  family?: string | undefined;
  status?: string | undefined;
}

const matching = ({ since, until, family, status }: RejectionFilter) => sql`
  rejected_requests where ${allOf([
    sql`minute >= date_trunc('minute', ${since}::timestamptz)`,
    until && sql`minute < ${until}`,
    family && sql`family = ${family}`,
    status && sql`status = ${status}::int`,
  ])}`;

/** Rejected requests by status and reason, the most frequent first. */
export const rejectedByReason = (filter: RejectionFilter) => sql<Rejected>`
  select status, reason, family = 'none' as unrouted, sum(count)::text as requests, min(minute) as first,
         max(minute) as last
  from ${matching(filter)} group by 1, 2, 3 order by unrouted, sum(count) desc, reason limit 100`;

export interface RejectedAt extends Pick<Rejected, 'status' | 'reason' | 'requests'> {
  at: Date;
  family: string;
}

/** Rejected requests of each minute or hour, the last first. */
export const rejectedByTime = (filter: RejectionFilter, unit: 'minute' | 'hour') => sql<RejectedAt>`
  select ${unit === 'hour' ? sql`reporting.hour(minute)` : sql`minute`} as at, family, status, reason,
         sum(count)::text as requests
  from ${matching(filter)} group by 1, 2, 3, 4 order by at desc, family, status, reason limit 500`;
