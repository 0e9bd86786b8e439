import type { ApplyJob } from '../queue/backend.ts';
import { idsPerJob, jobOf, type QueuedDelivery } from '../queue/delivery-queue.ts';
import type { Db } from '../store/tables.ts';
import { createSweep } from './sweep.ts';

/**
 * Creates a function that applies what is pending without jobs: the sweep, for deliveries of any age. It takes the names of
 * the families that can be applied now, and returns the number of deliveries that it found.
 *
 * @param apply applies the deliveries of a job
 * @param concurrency how many are applied at the same time
 */
export function createApplyWithoutJobs(
  db: Db,
  apply: ApplyJob,
  concurrency: number,
  alone?: Parameters<typeof createSweep>[3],
) {
  const applyAll = async (deliveries: readonly QueuedDelivery[]) => {
    let next = 0;
    const applyNext = async () => {
      while (next < deliveries.length) {
        const chunk = deliveries.slice(next, next + idsPerJob);
        next += idsPerJob;
        await apply(jobOf(chunk), '');
      }
    };
    await Promise.all(Array.from({ length: concurrency }, applyNext));
  };
  return createSweep(db, { countWaiting: async () => 0, enqueueOverdue: applyAll }, 0, alone);
}
