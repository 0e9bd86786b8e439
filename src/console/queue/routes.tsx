import type { Router } from 'express';
import type { JobQueue } from '../../queue/backend.ts';
import { jobStates, listJobs } from '../../queue/list-jobs.ts';
import { withTimeout } from '../../with-timeout.ts';
import type { ConsoleDependencies } from '../dependencies.ts';
import { NotHere } from '../errors.ts';
import { sendPage } from '../ui/page.tsx';
import { JobCounts, JobList } from './pages.tsx';

const timeoutMs = 2_000;
const away = <p class="empty">The queue does not answer.</p>;

/** The queue, read-only: how many jobs are in each state, and which. */
export function addQueue(router: Router, { queue }: Pick<ConsoleDependencies, 'queue'>): void {
  router.get('/queue', async (_req, res) => {
    const counts = await ask(queue, (opened) => opened.getJobCounts(...jobStates));
    sendPage(
      res,
      { title: 'Queue', section: 'queue' },
      <>
        <p>
          {`BullMQ on ${queue.store === 'redis' ? 'Redis' : 'PostgreSQL'}. `}
          Jobs carry ids of deliveries; finished ones are not kept. What a lost queue held is found again by
          the sweep.
        </p>
        {counts ? <JobCounts counts={counts} /> : away}
      </>,
    );
  });

  router.get('/queue/:state', async (req, res) => {
    const state = jobStates.find((name) => name === req.params.state);
    if (!state) throw new NotHere('There is no such state of a job.');
    const jobs = await ask(queue, (opened) => listJobs(opened, state));
    sendPage(
      res,
      { title: `Jobs: ${state}`, section: 'queue', trail: [{ name: 'Queue', href: '/console/queue' }] },
      jobs ? <JobList state={state} jobs={jobs} /> : away,
    );
  });
}

/** @returns undefined if the queue does not answer in time */
async function ask<T>(queue: ConsoleDependencies['queue'], question: (opened: JobQueue) => Promise<T>) {
  try {
    return await withTimeout(timeoutMs, question(queue.bullmq()));
  } catch {
    return undefined;
  }
}
