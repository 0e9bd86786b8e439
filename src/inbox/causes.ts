import { sql } from 'kysely';
import type { FieldError, QuarantineReason } from '../callbacks/rejection.ts';
import type { Db } from '../receiver/store/tables.ts';
import { causeOfFailure } from './list-deliveries.ts';
import { causeOfRejection } from './replay.ts';

/** What some failed deliveries, or rejected bodies, have in common. */
export interface Cause {
  state: 'failed' | 'rejected';
  /** Its hash: see `causeOfFailure` and `causeOfRejection`. */
  cause: string;
  family: string;
  /** Null: they failed. */
  reason: QuarantineReason | null;
  errors: FieldError[];
  count: number;
  /** One of the businesses; null where the bodies do not say it. */
  business: string | null;
  businesses: number;
  since: Date;
}

/** More failed deliveries, or rejected bodies, are not read. */
export const maxProblems = 10_000;
const maxCauses = 20;

/** The most frequent causes of what has failed, and of what was rejected and not accepted since. */
export async function listCauses(db: Db): Promise<Cause[]> {
  const { rows } = await sql<Cause>`
    select state, cause, family, reason, errors, count(*)::int as count, min(business_id) as business,
           count(distinct business_id)::int as businesses, min(received_at) as since
    from (
      select 'failed' as state, ${causeOfFailure} as cause, i.family, null as reason,
             jsonb_build_array(jsonb_build_object('path', '', 'message', coalesce(error, ''))) as errors, business_id, received_at
      from (select id, error from receiver.pending_deliveries where next_at = 'infinity' limit ${maxProblems}) failed
      join receiver.inbox i using (id)
      union all
      (select 'rejected', ${causeOfRejection}, family, reason, errors, business_id, received_at
       from receiver.quarantine where replayed_at is null limit ${maxProblems})
    ) problems
    group by state, cause, family, reason, errors order by count desc, cause limit ${maxCauses}`.execute(db);
  return rows;
}
