import { z } from 'zod';
import type { JobQueue } from './backend.ts';

export const jobStates = ['active', 'waiting', 'delayed', 'prioritized', 'completed', 'failed'] as const;

export type JobState = (typeof jobStates)[number];

/** The most jobs that `listJobs` returns. */
export const listLimit = 100;

export interface ListedJob {
  id: string;
  added: Date;
  /** Number of starts by a worker. */
  attempts: number;
  /** Ids of the deliveries that it applies. */
  deliveries: readonly string[];
}

// Jobs of other programs may contain anything.
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
