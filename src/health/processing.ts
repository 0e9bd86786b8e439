import { isNotBlocked } from '../store/blocked-deliveries.ts';
import { describeSession, howToEnd, type LockHolder } from '../store/lock-holders.ts';
import { defineCheck, type Problem } from './problem.ts';

/** What waits longer is a problem. */
export const lateS = 60;
const mostCounted = 100_000;
const shortLockMs = 10_000;

/**
 * Deliveries that wait for more than a minute: a problem per family. Those that are set aside have problems of their own.
 *
 * The planner's statistics may be hours old, so only the index is left to it. Applied rows are stored nearly in the order
 * in which they were applied, so that their index of block ranges finds those of the last minute.
 */
export const waitingDeliveries = defineCheck<{
  family: string;
  waiting: number;
  /** Seconds since the oldest was received. */
  oldestS: number;
  /** Whether one of the family was applied in the last minute. */
  applies: boolean;
  /** Whether a worker runs that applies the family. */
  hasWorker: boolean;
}>(
  `
set local enable_seqscan = off;
with late as materialized (
  select family, received_at from pending_deliveries p where received_at < now() - interval '${lateS} s'
    and ${isNotBlocked('p.id')}
  order by received_at limit ${mostCounted}
), recent as materialized (
  select distinct family from applied_deliveries where applied_at > now() - interval '1 minute'
)
select family, count(*)::int as waiting, extract(epoch from now() - min(received_at))::float8 as "oldestS",
  family in (select family from recent) as applies,
  exists (
    select from workers where late.family = any(families) and seen_at > now() - interval '1 minute'
  ) as "hasWorker"
from late group by family order by family`,
  ({ family, waiting, oldestS, applies, hasWorker }) => {
    const count = waiting < mostCounted ? waiting : `more than ${mostCounted}`;
    const figures = `${count} wait for more than ${lateS} s, the oldest for ${Math.round(oldestS)} s`;
    const since = new Date(Date.now() - oldestS * 1000);
    const common = { subject: family, status: 'fail', since } as const;
    if (applies) {
      const detail = `${figures}. Start more workers, or see what slows PostgreSQL`;
      return { ...common, kind: 'backlog', title: `Deliveries of the family ${family} are late`, detail };
    }
    if (!hasWorker) {
      const detail = `${figures}. Start a worker (ROLE=all or worker) of this version`;
      return { ...common, kind: 'no worker', title: `No worker of the family ${family} runs`, detail };
    }
    const title = `Deliveries of the family ${family} are not applied`;
    const detail = `${figures}, and none was applied in the last minute. The log of the workers says why`;
    return { ...common, kind: 'stalled', title, detail };
  },
);

/** Tables that are locked for some seconds, or for a time that cannot be read. Without the queue's, jobs are not used. */
export function judgeLocks(holders: readonly LockHolder[], now: number): Problem[] {
  return holders
    .filter(({ since }) => !since || now - since.getTime() > shortLockMs)
    .map((holder) => ({
      kind: 'locked',
      subject: `${holder.table} ${holder.pid ?? ''}`.trim(),
      status: holder.table.startsWith('bullmq.') ? 'warn' : 'fail',
      title: `Table ${holder.table} is locked`,
      since: holder.since ?? undefined,
      detail: `By ${describeSession(holder)}. ${howToEnd(holder)}`,
    }));
}
