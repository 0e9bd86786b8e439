import { type RawBuilder, sql } from 'kysely';
import type { DeliveryQueue, QueuedDelivery } from '../queue/delivery-queue.ts';
import { isNotBlocked } from '../store/blocked-deliveries.ts';
import { isDamaged } from '../store/faults.ts';
import { readSoundPages } from '../store/sound-pages.ts';
import type { Db } from '../store/tables.ts';

const idsPerSweep = 20_000;
const maxWaitingJobs = 40;

/**
 * Creates a function that enqueues deliveries that are still `received` some time after their arrival: their job was lost,
 * or was never added. It does so only while the queue is short, because in a long queue their jobs may still wait. A second
 * job for a delivery is harmless: it skips deliveries that are applied. What is set aside is tried on its own, and left out.
 *
 * The function takes the names of the families that can be applied now; other deliveries wait for a newer version, or for
 * their table. It returns the number of enqueued deliveries.
 *
 * @param olderThanMs how long ago a delivery was received, by the database's clock. A time in the future, from before
 *   that clock was set back, counts as old
 * @param alone runs the rest where there is something to do, unless another process does
 */
export function createSweep(
  db: Db,
  queue: Pick<DeliveryQueue, 'countWaiting' | 'enqueueOverdue'>,
  olderThanMs: number,
  alone: (work: () => Promise<number>) => Promise<number | undefined> = (work) => work(),
) {
  return async (families: readonly string[]): Promise<number> => {
    if (families.length === 0) return 0;
    if ((await queue.countWaiting()) > maxWaitingJobs) return 0;
    const isDue = sql`family in (${sql.join(families)}) and ${sql.raw(isNotBlocked('p.id'))}
      and (received_at < now() - ${olderThanMs} * interval '1 millisecond' or received_at > now())`;
    const find = (most: number) =>
      sql<QueuedDelivery>`
        select id, family from pending_deliveries p where ${isDue}
        order by received_at limit ${most}`
        .execute(db)
        .then(({ rows }) => rows)
        .catch((error) => {
          if (!isDamaged(error)) throw error;
          const inRange = (isInRange: RawBuilder<boolean>) =>
            sql<QueuedDelivery>`select id, family from pending_deliveries p where ${isInRange} and ${isDue} limit ${most}`;
          return readSoundPages(db, 'pending_deliveries', most, inRange);
        });
    if ((await find(1)).length === 0) return 0;
    const found = await alone(async () => {
      const overdue = await find(idsPerSweep);
      await queue.enqueueOverdue(overdue);
      return overdue.length;
    });
    return found ?? 0;
  };
}
