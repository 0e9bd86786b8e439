import { z } from 'zod';
import type { JobQueue } from '../../queue/backend.ts';

export const jobStates = ['active', 'waiting', 'delayed', 'prioritized', 'completed', 'failed'] as const;

export type JobState = (typeof jobStates)[number];

/** The most jobs that a page lists. */
export const listLimit = 100;

/** What is shown of a job. */
export interface ListedJob {
  id: string;
  added: Date;
  /** How often a worker has started it. */
  attempts: number;
  /** Ids of the deliveries that it applies. */
  deliveries: readonly string[];
}

// A job of another program may contain anything; only ids are shown.
const jobData = z.object({ ids: z.array(z.guid()) }).catch({ ids: [] });

/**
 * The newest jobs in a state, at most `listLimit`.
 *
 * @throws the store's error
 */
export async function listJobs(queue: JobQueue, state: JobState): Promise<ListedJob[]> {
  const jobs = await queue.getJobs(state, 0, listLimit - 1);
  return jobs.map(({ id = '', timestamp, attemptsStarted, data }) => ({
    id,
    added: new Date(timestamp),
    attempts: attemptsStarted,
    deliveries: jobData.parse(data).ids,
  }));
}
