import { type Kysely, sql } from 'kysely';
import type { DeliveryQueue } from '../queue/delivery-queue.ts';
import type { Tables } from '../store/tables.ts';

const idsPerSweep = 20_000;
const mostWaitingJobs = 40;

/**
 * Enqueues deliveries that are still `received` some time after their arrival: their job was lost, or was never added.
 * It does so only while the queue is short, because in a long queue their jobs may still wait. A second job for a
 * delivery is harmless: it skips deliveries that are applied.
 *
 * @param families names of the families that can be applied; other deliveries wait for a newer version, or for their
 *   table
 * @param olderThanMs how long ago a delivery was received, by the database's clock. A time in the future, from before
 *   that clock was set back, counts as old
 * @returns the number of enqueued deliveries
 */
export async function sweep(
  db: Kysely<Tables>,
  queue: Pick<DeliveryQueue, 'countWaiting' | 'enqueueOverdue'>,
  families: readonly string[],
  olderThanMs: number,
): Promise<number> {
  if (families.length === 0) return 0;
  if ((await queue.countWaiting()) > mostWaitingJobs) return 0;
  const overdue = await db
    .selectFrom('pending_deliveries')
    .select(['id', 'family'])
    .where('family', 'in', families)
    .where(
      sql<boolean>`(received_at < now() - ${olderThanMs} * interval '1 millisecond' or received_at > now())`,
    )
    .orderBy('received_at')
    .limit(idsPerSweep)
    .execute();
  await queue.enqueueOverdue(overdue);
  return overdue.length;
}
