import { sql } from 'kysely';
import type { DeliveryQueue, QueuedDelivery } from '../queue/delivery-queue.ts';
import type { Db } from '../store/tables.ts';

const idsPerSweep = 20_000;
const maxWaitingJobs = 40;
/** No insert takes longer, but one whose commit waits for a standby: a complete scan finds that. */
const marginS = 10;
const completeEveryMs = 60_000;

/**
 * Creates a function that enqueues deliveries that are still `received` some time after their arrival: their job was lost,
 * or was never added. It does so only while the queue is short, because in a long queue their jobs may still wait. A second
 * job for a delivery is harmless: it skips deliveries that are applied.
 *
 * It begins at the oldest delivery that was still pending at the last call: while an old snapshot keeps PostgreSQL from
 * removing deleted rows, a scan from the beginning would read all of them again. Once a minute it does so nevertheless,
 * because a transaction may commit a delivery later than the margin after its arrival.
 *
 * The function takes the names of the families that can be applied now; other deliveries wait for a newer version, or for
 * their table. It returns the number of enqueued deliveries.
 *
 * @param olderThanMs how long ago a delivery was received, by the database's clock. A time in the future, from before
 *   that clock was set back, counts as old
 */
export function createSweep(
  db: Db,
  queue: Pick<DeliveryQueue, 'countWaiting' | 'enqueueOverdue'>,
  olderThanMs: number,
) {
  let pendingSince = '-infinity';
  let completeAt = Number.NEGATIVE_INFINITY;
  return async (families: readonly string[]): Promise<number> => {
    if (families.length === 0) return 0;
    if ((await queue.countWaiting()) > maxWaitingJobs) return 0;
    if (performance.now() - completeAt >= completeEveryMs) {
      completeAt = performance.now();
      pendingSince = '-infinity';
    }
    // Deliveries of all families: those that cannot be applied now are found again later.
    const { rows } = await sql<{ since: string }>`
      select least(min(received_at), now() - ${marginS} * interval '1 second')::text as since
      from pending_deliveries where received_at >= ${pendingSince}::timestamptz`.execute(db);
    pendingSince = rows[0]!.since;
    const { rows: overdue } = await sql<QueuedDelivery>`
      select id, family from pending_deliveries
      where family in (${sql.join(families)}) and received_at >= ${pendingSince}::timestamptz
        and (received_at < now() - ${olderThanMs} * interval '1 millisecond' or received_at > now())
      order by received_at limit ${idsPerSweep}`.execute(db);
    await queue.enqueueOverdue(overdue);
    return overdue.length;
  };
}
