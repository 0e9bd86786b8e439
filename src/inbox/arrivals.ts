import { sql } from 'kysely';
import type { Db } from '../receiver/store/tables.ts';

export interface Arrivals {
  at: Date;
  /** Stored: applied, waiting or failed. */
  stored: number;
  waiting: number;
  failed: number;
  /** Rejected, and not accepted since. */
  rejected: number;
}

const first = sql`reporting.hour(now() - interval '23 hours')`;
// The index is on days.
const isRecent = sql`reporting.day(received_at) >= reporting.day(${first}) and received_at >= ${first}`;

/** Counts of the last 24 hours, the first one first. */
export async function readArrivals(db: Db): Promise<Arrivals[]> {
  const { rows } = await sql<Arrivals>`
    with arrived as (
      select reporting.hour(received_at) as at, count(*) as stored, count(*) filter (where next_at < 'infinity') as waiting,
             count(*) filter (where next_at = 'infinity') as failed, 0 as rejected
      from (select id, received_at from receiver.inbox where ${isRecent}) i left join receiver.pending_deliveries using (id)
      group by 1
      union all
      select reporting.hour(received_at), 0, 0, 0, count(*) from receiver.quarantine where ${isRecent} and replayed_at is null group by 1
    )
    select at, coalesce(sum(stored), 0)::int as stored, coalesce(sum(waiting), 0)::int as waiting,
           coalesce(sum(failed), 0)::int as failed, coalesce(sum(rejected), 0)::int as rejected
    from generate_series(${first}, now(), interval '1 hour') at left join arrived using (at) group by at order by at`.execute(
    db,
  );
  return rows;
}
