import { sql } from 'kysely';
import type { DeliveryQueue, QueuedDelivery } from '../queue/delivery-queue.ts';
import type { PendingSince } from '../store/pending-since.ts';
import type { Db } from '../store/tables.ts';

const idsPerSweep = 20_000;
const maxWaitingJobs = 40;

/**
 * Creates a function that enqueues deliveries that are still `received` some time after their arrival: their job was lost,
 * or was never added. It does so only while the queue is short, because in a long queue their jobs may still wait. A second
 * job for a delivery is harmless: it skips deliveries that are applied.
 *
 * The function takes the names of the families that can be applied now; other deliveries wait for a newer version, or for
 * their table. It returns the number of enqueued deliveries.
 *
 * @param olderThanMs how long ago a delivery was received, by the database's clock. A time in the future, from before
 *   that clock was set back, counts as old
 * @param pendingSince the time at which it begins to look
 */
export function createSweep(
  db: Db,
  queue: Pick<DeliveryQueue, 'countWaiting' | 'enqueueOverdue'>,
  olderThanMs: number,
  pendingSince: PendingSince,
) {
  return async (families: readonly string[]): Promise<number> => {
    if (families.length === 0) return 0;
    if ((await queue.countWaiting()) > maxWaitingJobs) return 0;
    const since = await pendingSince({ wait: true });
    const { rows: overdue } = await sql<QueuedDelivery>`
      select id, family from pending_deliveries
      where family in (${sql.join(families)}) and received_at >= ${since}::timestamptz
        and (received_at < now() - ${olderThanMs} * interval '1 millisecond' or received_at > now())
      order by received_at limit ${idsPerSweep}`.execute(db);
    await queue.enqueueOverdue(overdue);
    return overdue.length;
  };
}
