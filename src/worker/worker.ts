import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { type Applied, applyDeliveries } from '../apply/apply.ts';
import type { Config } from '../config.ts';
import type { Family } from '../families/index.ts';
import type { Intake } from '../intake/intake.ts';
import { type Log, sparingly } from '../log.ts';
import type { JobProcessor, JobWorker, QueueBackend } from '../queue/backend.ts';
import { type DeliveryQueue, QueueAway } from '../queue/delivery-queue.ts';
import { withAdvisoryLock } from '../store/advisory-lock.ts';
import type { Circuit } from '../store/circuit.ts';
import type { Tables } from '../store/tables.ts';
import { drain } from './drain.ts';
import { FamilyPauses } from './family-pauses.ts';
import { sweep } from './sweep.ts';
import { takeJobs } from './take-jobs.ts';

/** Told of what becomes of jobs. */
export interface WorkerObserver {
  /** A job's deliveries were applied; `waitedS`: how long the first of them had waited before. */
  applied: (job: {
    applied: number;
    failed: number;
    seconds: number;
    waitedS?: number | null | undefined;
  }) => void;
  /** A job, or a part of it, is tried again later. */
  putBack: () => void;
}

export interface WorkerDependencies {
  config: Pick<Config, 'sweep' | 'bodyLimitBytes'>;
  families: readonly Family[];
  db: Kysely<Tables>;
  /** Of PostgreSQL. */
  circuit: Circuit;
  backend: QueueBackend;
  queue: DeliveryQueue;
  intake: Pick<Intake, 'drain'>;
  observe?: WorkerObserver | undefined;
  log: Log;
}

export interface RunningWorker {
  /** Whether it takes jobs from the queue. */
  takesJobs: () => boolean;
  /** Finishes the running jobs and takes no more. */
  stop: () => Promise<void>;
}

const concurrency = 4;
const drainEveryMs = 500;
const retryMs = 1_000;

/**
 * Takes jobs from the queue and applies their deliveries, sweeps, and drains the fallback. Jobs are taken from
 * when the queue's store answers, however late that is, and only while both stores do. A job that meets an outage
 * stays with this worker until the outage is over; what a stop leaves undone, the sweep finds.
 */
export function startWorker(dependencies: WorkerDependencies): RunningWorker {
  const { config, families, db, circuit, backend, queue, intake, observe, log } = dependencies;
  const stopping = new AbortController();
  const { signal } = stopping;
  const pauses = new FamilyPauses(families, log);
  const report = (message: string) => sparingly((more, err) => log.warn({ err, ...more }, message));
  const reportJob = report('a job is tried again');

  const apply = async (ids: string[], job: string) => {
    for (const group of pauses.take()) {
      const started = performance.now();
      const result = await applyOnceAnswered(() => applyDeliveries(db, group, ids));
      if (result.broken.length > 0) observe?.putBack();
      pauses.note(group, result);
      const { applied, failed, waitedS } = result;
      const seconds = (performance.now() - started) / 1000;
      observe?.applied({ applied, failed: failed.length, seconds, waitedS });
      for (const { id, error } of failed)
        log.error({ job, delivery: id, reason: error }, 'a delivery failed');
      log.debug({ job, applied, failed: failed.length }, 'deliveries applied');
    }
  };

  /** Whether an error is an outage or the fault of a table is for the circuit's probe to say. */
  const applyOnceAnswered = async (attempt: () => Promise<Applied>): Promise<Applied> => {
    for (;;) {
      await circuit.whenClosed(signal);
      try {
        const result = await attempt();
        const [first] = result.broken;
        if (!first || !(await circuit.suspect(first.error))) return result;
      } catch (error) {
        if (!(await circuit.suspect(error))) {
          reportJob(error);
          await sleep(retryMs, undefined, { signal });
        }
      }
      observe?.putBack();
    }
  };

  const process: JobProcessor = async (job) => {
    // A job of another name is one of another version.
    if (job.name !== 'apply') return;
    await apply(job.data.ids, job.id ?? '').catch((error) => {
      if (!signal.aborted) throw error;
    });
  };

  let worker: JobWorker | undefined;
  const working = (async () => {
    worker = await backend.openWorker(
      process,
      // A job whose worker died is taken again however often that happens: it is safe to repeat.
      { concurrency, maxStalledCount: 2 ** 31 - 1 },
      signal,
    );
    await takeJobs(worker, circuit, backend.circuit, report('the worker met an error of the queue'), signal);
  })().catch((error) => {
    if (!signal.aborted) log.error({ err: error }, 'the worker ended');
  });

  /** Does a step again and again while PostgreSQL answers, `everyMs` after it has ended. */
  const repeat = async (name: string, everyMs: number, step: () => Promise<void>) => {
    const reportStep = report(`${name} failed; it is tried again`);
    while (!signal.aborted) {
      try {
        await circuit.whenClosed(signal);
        await step();
      } catch (error) {
        if (signal.aborted) return;
        const away = await Promise.all([circuit.suspect(error), backend.circuit.suspect(error)]);
        if (!away.includes(true) && !(error instanceof QueueAway)) reportStep(error);
      }
      await sleep(everyMs, undefined, { signal }).catch(() => {});
    }
  };

  const sweeping = repeat('the sweep', config.sweep.everyMs, async () => {
    if (backend.circuit.isOpen) return;
    const found = await withAdvisoryLock(db, 'sweep', () =>
      sweep(db, queue.opened(), pauses.due(), config.sweep.olderThanMs),
    );
    if (found) log.debug({ count: found }, 'deliveries without a job were enqueued');
  });

  const { fallback } = backend;
  const { bodyLimitBytes } = config;
  const reportStuck = report(
    'deliveries wait in Redis for a database that shares its address: set QUEUE_PREFIX',
  );
  const draining =
    fallback &&
    repeat('the drain', drainEveryMs, async () => {
      if (backend.circuit.isOpen) return;
      if ((await fallback.count()) === 0) return;
      let total = 0;
      try {
        for (let count: number | undefined; count !== 0 && !signal.aborted; total += count) {
          count = await withAdvisoryLock(db, 'drain', () => drain({ fallback, intake, bodyLimitBytes }));
          if (count === undefined) return;
          if (count + total === 0) reportStuck();
        }
      } finally {
        if (total > 0) log.info({ count: total }, 'deliveries that waited in Redis are in the database');
      }
    });

  return {
    takesJobs: () => worker?.isRunning() === true && !worker.isPaused(),
    stop: async () => {
      stopping.abort();
      await Promise.all([working, sweeping, draining]);
      // A queue that is away has nothing to hand back, and would be waited for.
      await worker?.close(backend.circuit.isOpen);
    },
  };
}
