import { DelayedError } from 'bullmq';
import type { Kysely } from 'kysely';
import type { Config } from '../config.ts';
import type { Family } from '../families/index.ts';
import type { Inbox } from '../inbox/inbox.ts';
import type { Quarantine } from '../inbox/quarantine.ts';
import type { Log } from '../log.ts';
import type { JobProcessor, QueueBackend } from '../queue/backend.ts';
import type { DeliveryQueue } from '../queue/delivery-queue.ts';
import type { JobName, Jobs } from '../queue/jobs.ts';
import type { Tables } from '../store/tables.ts';
import { applyDeliveries } from './apply.ts';
import { moveIn } from './move-in.ts';
import { sweep } from './sweep.ts';

/** Told of what becomes of jobs. */
export interface WorkerObserver {
  /** A job's deliveries were applied; `waitedS`: how long the first of them had waited before. */
  applied: (job: {
    applied: number;
    failed: number;
    seconds: number;
    waitedS?: number | null | undefined;
  }) => void;
  /** A job is tried again later. */
  putBack: () => void;
}

export interface WorkerParts {
  config: Pick<Config, 'sweep' | 'paths'>;
  families: readonly Family[];
  db: Kysely<Tables>;
  backend: QueueBackend;
  queue: DeliveryQueue;
  inbox: Pick<Inbox, 'append'>;
  quarantine: Pick<Quarantine, 'keep'>;
  observe?: WorkerObserver | undefined;
  log: Log;
}

const concurrency = 4;
const longestPauseMs = 5_000;

/**
 * Takes jobs from the queue and applies their deliveries until it is closed.
 *
 * @returns a function that finishes the running jobs and takes no more
 */
export async function startWorker(parts: WorkerParts): Promise<() => Promise<void>> {
  const { config, families, db, backend, queue, inbox, quarantine, observe, log } = parts;
  const handlers: { [Name in JobName]: (data: Jobs[Name], job: string) => Promise<void> } = {
    apply: async ({ ids }, job) => {
      const started = performance.now();
      const { applied, failed, waitedS } = await applyDeliveries(db, families, ids);
      const seconds = (performance.now() - started) / 1000;
      observe?.applied({ applied, failed: failed.length, seconds, waitedS });
      for (const { id, error } of failed)
        log.error({ job, delivery: id, reason: error }, 'a delivery failed');
      log.debug({ job, applied, failed: failed.length }, 'deliveries applied');
    },
    store: async ({ deliveries }, job) => {
      await moveIn(deliveries, { inbox, quarantine, paths: config.paths });
      log.info({ job, count: deliveries.length }, 'deliveries that waited for PostgreSQL were moved in');
    },
    sweep: async () => {
      const found = await sweep(db, queue.opened(), families, config.sweep.olderThanMs);
      if (found > 0) log.warn({ count: found }, 'deliveries without a job were enqueued');
    },
  };

  const process: JobProcessor = async (job, token) => {
    try {
      await handlers[job.name](job.data as never, job.id ?? '');
    } catch (error) {
      // What is not the fault of the data is an outage: the job waits, and no attempt is used up.
      const pause = Math.min(250 * 2 ** Math.min(job.attemptsStarted, 8), longestPauseMs);
      observe?.putBack();
      log.warn({ err: error, job: job.id, pauseMs: pause }, 'a job is tried again later');
      await job.moveToDelayed(Date.now() + pause, token);
      throw new DelayedError();
    }
  };

  const worker = await backend.openWorker(process, {
    concurrency,
    // A job whose worker died is taken again however often that happens: it is safe to repeat.
    maxStalledCount: 2 ** 31 - 1,
  });
  worker.on('error', (error) => log.warn({ err: error }, 'the worker cannot reach the queue'));
  worker.run().catch((error) => log.fatal({ err: error }, 'the worker ended'));
  const stopScheduling = keepSweeping(queue, config.sweep.everyMs, log);
  return async () => {
    await stopScheduling();
    await worker.close();
  };
}

/** The schedule lives in the queue, so a wiped queue forgets it; it is put back as often as it runs. */
function keepSweeping(queue: DeliveryQueue, everyMs: number, log: Log): () => Promise<void> {
  const options = { removeOnComplete: true, removeOnFail: true };
  const schedule = async () => {
    try {
      const bullmq = queue.opened();
      if (await bullmq.getJobScheduler('sweep')) return;
      await bullmq.upsertJobScheduler(
        'sweep',
        { every: everyMs },
        { name: 'sweep', data: {}, opts: options },
      );
    } catch (error) {
      log.warn({ err: error }, 'the sweep could not be scheduled; it is tried again');
    }
  };
  let running = schedule();
  const timer = setInterval(() => {
    running = schedule();
  }, everyMs);
  return async () => {
    clearInterval(timer);
    await running;
  };
}
