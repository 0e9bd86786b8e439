import { z } from 'zod';
import type { JobQueue } from './backend.ts';

export const jobStates = ['active', 'waiting', 'delayed', 'prioritized', 'completed', 'failed'] as const;

export type JobState = (typeof jobStates)[number];

/** The most jobs that `listJobs` returns. */
export const listLimit = 100;

/** What is shown of a job. */
export type ListedJob = Awaited<ReturnType<typeof listJobs>>[number];

// Jobs of other programs may contain anything.
const jobData = z.object({ ids: z.array(z.guid()) }).catch({ ids: [] });

/**
 * The newest jobs in a state, at most `listLimit`.
 *
 * @throws the store's error
 */
export async function listJobs(queue: JobQueue, state: JobState) {
  const jobs = await queue.getJobs(state, 0, listLimit - 1);
  return jobs.map(({ id = '', timestamp, attemptsStarted, data }) => ({
    id,
    added: new Date(timestamp),
    /** How often a worker has started it. */
    attempts: attemptsStarted,
    /** Ids of the deliveries that it applies. */
    deliveries: jobData.parse(data).ids,
  }));
}
