import { sql } from 'kysely';

export interface FailedGroup {
  family: string;
  event: string;
  error: string;
  deliveries: number;
  first: Date;
  last: Date;
  /** How many have a note, or were marked as seen. */
  seen: number;
}

/** Failed deliveries by error, the most frequent first. */
export const failedGroups = sql<FailedGroup>`
  select family, event, coalesce(error, '') as error, count(*)::int as deliveries,
         min(received_at) as first, max(received_at) as last,
         count(*) filter (where exists (select from notes n where n.subject_id = deliveries.id))::int as seen
  from deliveries where status = 'failed'
  group by family, event, error
  order by deliveries desc, last desc limit 200`;
