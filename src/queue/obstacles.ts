import type pg from 'pg';
import { describeSession, howToEnd } from '../store/lock-holders.ts';
import {
  describeNotificationHolder,
  findNotificationHolder,
  fullUsage,
  readNotificationUsage,
} from '../store/notifications.ts';
import { findQueueLockHolders } from '../store/queue-locks.ts';

/**
 * Creates the function `findObstacle` of the queue in PostgreSQL. Each look frees the notifications that all sessions have
 * read, so a full queue of notifications is usable again within a second.
 *
 * @param pool not BullMQ's: its connections may all wait for a lock
 */
export function watchObstacles(pool: pg.Pool): () => Promise<string | undefined> {
  let full: string | undefined;
  let lastHolders = new Set<number | null>();

  /** A session that is seen once may have taken its lock for a moment. */
  const findHolders = async () => {
    const holders = await findQueueLockHolders(pool);
    const lasting = holders.filter(({ pid }) => lastHolders.has(pid));
    lastHolders = new Set(holders.map(({ pid }) => pid));
    return lasting;
  };

  const describeFull = async () => {
    const holder = await findNotificationHolder(pool);
    return `PostgreSQL's queue of notifications is full. ${describeNotificationHolder(holder)}`;
  };

  return async () => {
    const [holder] = await findHolders();
    if (holder) {
      return `A session holds a lock of the queue: ${describeSession(holder)}. ${howToEnd(holder)}`;
    }
    full = (await readNotificationUsage(pool)) < fullUsage ? undefined : (full ?? (await describeFull()));
    return full;
  };
}
