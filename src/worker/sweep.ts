import { type Kysely, sql } from 'kysely';
import type { JobQueue } from '../queue/backend.ts';
import type { Tables } from '../store/tables.ts';

const idsPerJob = 500;
const jobsPerSweep = 40;
const sameNameMs = 10_000;

/**
 * Enqueues deliveries that are still `received` though they came some time ago: their job was lost, or
 * never was. It does so in bounded chunks, and only while the queue is short: in a long one they may be
 * waiting. One too many does no harm, for a job passes over what is applied already.
 *
 * @param families the names of those that can be applied: a delivery of another waits for the version that knows
 *   it, or for its table
 * @param olderThanMs how long ago a delivery must have come; by the database's clock, and one that came in its
 *   future, before that was set back, is as good as old
 * @returns how many were enqueued
 */
export async function sweep(
  db: Kysely<Tables>,
  queue: JobQueue,
  families: readonly string[],
  olderThanMs: number,
): Promise<number> {
  if (families.length === 0) return 0;
  const waiting = await queue.getJobCountByTypes('waiting', 'delayed', 'prioritized');
  if (waiting > jobsPerSweep) return 0;
  const overdue = await db
    .selectFrom('deliveries')
    .select('id')
    .where('status', '=', 'received')
    .where('family', 'in', families)
    .where(
      sql<boolean>`(received_at < now() - ${olderThanMs} * interval '1 millisecond' or received_at > now())`,
    )
    .orderBy('received_at')
    .limit(idsPerJob * jobsPerSweep)
    .execute();
  const ids = overdue.map((delivery) => delivery.id);
  const jobs = [];
  const period = Math.floor(Date.now() / sameNameMs);
  for (let at = 0; at < ids.length; at += idsPerJob) {
    const chunk = ids.slice(at, at + idsPerJob);
    // Named after its first delivery, so that the next sweep does not add it while it waits; and for some seconds
    // only, for a job that is in no list any more keeps its name for ever.
    const jobId = `swept-${period}-${chunk[0]}`;
    jobs.push({ name: 'apply' as const, data: { ids: chunk }, opts: { jobId } });
  }
  if (jobs.length > 0) await queue.addBulk(jobs);
  return ids.length;
}
