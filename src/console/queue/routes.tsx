import { withTimeout } from '../../common/with-timeout.ts';
import type { JobQueue } from '../../queue/backend.ts';
import { jobStates, listJobs } from '../../queue/list-jobs.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { NotFound } from '../errors.ts';
import type { Routes } from '../guard.ts';
import { sendPage } from '../ui/page.tsx';
import { JobCounts, JobList } from './pages.tsx';

const timeoutMs = 2_000;
const section = 'queue';
const unavailable = <p class="empty">The queue is unavailable.</p>;

/** The queue, read-only: the number of jobs by state, and the jobs of a state. */
export function addQueue(routes: Routes, { queue }: RouteDependencies): void {
  /** @returns undefined if the queue fails or does not respond in time */
  async function tryRead<T>(read: (bullmq: JobQueue) => Promise<T>): Promise<T | undefined> {
    try {
      return await withTimeout(timeoutMs, read(queue.bullmq()));
    } catch {
      return undefined;
    }
  }

  routes.get('/queue', async (_req, res) => {
    const counts = await tryRead((bullmq) => bullmq.getJobCounts(...jobStates));
    sendPage(
      res,
      { title: 'Queue', section },
      <>
        <p>
          {`BullMQ on ${queue.store === 'redis' ? 'Redis' : 'PostgreSQL'}. `}A job contains delivery ids only;
          finished jobs are deleted. If the queue is lost, the sweep enqueues its deliveries again.
        </p>
        {counts ? <JobCounts counts={counts} /> : unavailable}
      </>,
    );
  });

  routes.get('/queue/:state', async (req, res) => {
    const state = jobStates.find((name) => name === req.params.state);
    if (!state) throw new NotFound('There is no such job state.');
    const jobs = await tryRead((bullmq) => listJobs(bullmq, state));
    const page = { title: `Jobs: ${state}`, section, back: true } as const;
    sendPage(res, page, jobs ? <JobList state={state} jobs={jobs} /> : unavailable);
  });
}
