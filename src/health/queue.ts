import type pg from 'pg';
import { describeSession, howToEnd } from '../store/lock-holders.ts';
import {
  describeNotificationHolder,
  findNotificationHolder,
  fullUsage,
  highUsage,
  readNotificationUsage,
} from '../store/notifications.ts';
import { findQueueLockHolders } from '../store/queue-locks.ts';
import type { Problem } from './problem.ts';

const meanwhile = 'Meanwhile deliveries are applied without jobs';

/** Sessions that hold an advisory lock for which BullMQ's functions wait. Locks of its tables are found with those of others. */
export async function queueLocks(pool: pg.Pool): Promise<Problem[]> {
  const holders = await findQueueLockHolders(pool);
  return holders
    .filter(({ table }) => !table)
    .map((holder) => ({
      kind: 'queue',
      subject: String(holder.pid ?? 'prepared transaction'),
      status: 'warn',
      title: `${holder.pid ? `Session ${holder.pid}` : 'A prepared transaction'} holds a lock of the queue`,
      since: holder.since ?? undefined,
      detail: `${describeSession(holder)}. ${howToEnd(holder)}. ${meanwhile}`,
    }));
}

/** PostgreSQL's queue of notifications, of all databases of the server: while it is full, no job can be added or finished. */
export async function notifications(pool: pg.Pool): Promise<Problem[]> {
  const usage = await readNotificationUsage(pool);
  if (usage < highUsage) return [];
  const isFull = usage >= fullUsage;
  const holder = describeNotificationHolder(await findNotificationHolder(pool));
  return [
    {
      kind: 'queue',
      subject: 'notifications',
      status: 'warn',
      title: `PostgreSQL's queue of notifications is ${isFull ? '' : 'more than half '}full`,
      detail: `${Math.round(usage * 100)} %. ${holder}${isFull ? `. ${meanwhile}` : ''}`,
    },
  ];
}
