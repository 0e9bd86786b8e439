import { randomUUID } from 'node:crypto';
import type { JobQueue } from './backend.ts';

/** The id of a job that holds deliveries whole. It says how many, so that counting them reads none. */
export const heldJobId = (count: number) => `held-${count}-${randomUUID()}`;

/**
 * How many deliveries the jobs of the queue hold whole.
 *
 * @param atMost how many jobs of each state are looked at
 */
export async function countHeld(queue: JobQueue, atMost: number): Promise<number> {
  const ids = await queue.getRanges(['waiting', 'active', 'delayed'], 0, atMost - 1);
  return ids.reduce((sum, id) => sum + Number(/^held-(\d+)-/.exec(id)?.[1] ?? 0), 0);
}
