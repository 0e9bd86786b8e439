import { type Kysely, sql } from 'kysely';
import type { Tables } from '../../store/tables.ts';

export interface Rejected {
  status: number;
  reason: string;
  /** Of another path than a registered one. */
  unrouted: boolean;
  requests: string;
  last: Date;
}

export interface RejectionFilter {
  from: Date;
  until?: Date | undefined;
  family?: string | undefined;
  status?: string | undefined;
}

function matching({ from, until, family, status }: RejectionFilter) {
  const conditions = [
    sql`minute >= date_trunc('minute', ${from}::timestamptz)`,
    until && sql`minute < ${until}`,
    family && sql`family = ${family}`,
    status && sql`status = ${status}::int`,
  ].filter((condition) => typeof condition === 'object');
  return sql`rejected_requests where ${sql.join(conditions, sql` and `)}`;
}

/** Rejected requests by status and reason, the most frequent first. */
export async function readRejected(db: Kysely<Tables>, filter: RejectionFilter): Promise<Rejected[]> {
  const { rows } = await sql<Rejected>`
    select status, reason, family = 'none' as unrouted, sum(count)::text as requests, max(minute) as last
    from ${matching(filter)} group by 1, 2, 3 order by unrouted, sum(count) desc, reason limit 100`.execute(
    db,
  );
  return rows;
}

export interface RejectedAt extends Pick<Rejected, 'status' | 'reason' | 'requests'> {
  at: Date;
  family: string;
}

/** Rejected requests of each minute or hour, the last first. */
export async function readRejectedTimes(
  db: Kysely<Tables>,
  filter: RejectionFilter,
  unit: 'minute' | 'hour',
): Promise<RejectedAt[]> {
  const at = unit === 'hour' ? sql`reporting.hour(minute)` : sql`minute`;
  const { rows } = await sql<RejectedAt>`
    select ${at} as at, family, status, reason, sum(count)::text as requests
    from ${matching(filter)} group by 1, 2, 3, 4 order by at desc, family, status, reason limit 500`.execute(
    db,
  );
  return rows;
}
