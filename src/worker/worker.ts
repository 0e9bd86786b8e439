import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { throttled } from '../common/log.ts';
import type { Config } from '../config/config.ts';
import type { Intake } from '../intake/intake.ts';
import type { JobWorker, QueueBackend } from '../queue/backend.ts';
import { type DeliveryQueue, QueueUnavailable } from '../queue/delivery-queue.ts';
import type { FallbackStream } from '../queue/fallback-stream.ts';
import type { Database } from '../store/database.ts';
import { createLeases } from '../store/lease.ts';
import { tryFindLockHolders } from '../store/lock-holders.ts';
import { type ApplyJobDependencies, createApplyJob } from './apply-job.ts';
import { createStateCheck } from './check-states.ts';
import { createErasures, createRetention, type DeletionDependencies } from './deletions.ts';
import { drain, drainSpilled } from './drain.ts';
import { createFamilyPauses } from './family-pauses.ts';
import { keepHeartbeat } from './heartbeat.ts';
import { createReconciliation, type ReconciliationDependencies } from './reconciliation.ts';
import { createTermsUpdate } from './search-terms.ts';
import { createSetAside } from './set-aside.ts';
import { createSweep } from './sweep.ts';
import { createApplyWithoutJobs } from './without-jobs.ts';

export interface WorkerDependencies
  extends ApplyJobDependencies,
    DeletionDependencies,
    Pick<ReconciliationDependencies, 'openPlatform'> {
  config: Pick<Config, 'sweep' | 'bodyLimitBytes' | 'retention' | 'erasure'> &
    ReconciliationDependencies['config'];
  database: Pick<Database, 'db' | 'pool'>;
  backend: QueueBackend;
  queue: DeliveryQueue;
  intake: Pick<Intake, 'drain' | 'store'>;
  /** How many jobs run at the same time: each needs a connection that applies deliveries. */
  concurrency: number;
  /** Called when a pass of the retention is complete. */
  onRetained?: (() => void) | undefined;
}

export type RunningWorker = ReturnType<typeof startWorker>;

const drainEveryMs = 500;
const checkEveryMs = 100;
const pauseMs = 1_000;
const retentionCheckMs = 60_000;
const reconciliationCheckMs = 60_000;
const setAsideEveryMs = 1_000;
const spilledEveryMs = 1_000;
const termsCheckMs = 500;
const stateCheckMs = 10_000;
const withoutJobsEveryMs = 200;
const leftForMs = 10_000;

/**
 * Applies the deliveries of the queue's jobs, sweeps, drains the fallback, applies retention, and compares with the platform. It takes jobs once the
 * queue's store is available, however late that is, and only while both stores are. A job that meets an outage waits in this
 * worker until the outage ends; the sweep finds the deliveries that a stop leaves unapplied.
 */
export function startWorker(dependencies: WorkerDependencies) {
  const { config, families, db, circuit, backend, queue, intake, concurrency, log } = dependencies;
  const stopping = new AbortController();
  const { signal } = stopping;
  // Every task and every job that waits listens.
  setMaxListeners(0, signal);
  const leases = createLeases(db, { log });
  const pauses = createFamilyPauses(families, log, () => tryFindLockHolders(dependencies.applying.pool));
  const report = (message: string) => throttled((more, err) => log.warn({ err, ...more }, message));

  let refusedAt = Number.NEGATIVE_INFINITY;
  /** Why jobs cannot be used. A queue that fails although its store is available is tried again after some seconds. */
  const findObstacle = () =>
    queue.obstacle ?? (performance.now() - refusedAt < leftForMs ? 'The queue fails' : undefined);

  /**
   * Runs the worker while both stores are available. BullMQ retries at once after most errors, so the worker is paused
   * for a moment after each: otherwise it would spin and fill the log.
   */
  const takeJobs = async (jobs: JobWorker): Promise<never> => {
    const reportError = report('queue error in the worker');
    let hasFailed = false;
    jobs.on('error', (error) => {
      hasFailed = true;
      void jobs.pause(true);
      void backend.circuit.probeAfter(error).then((unavailable) => {
        if (unavailable) return;
        refusedAt = performance.now();
        reportError(error);
      });
    });
    for (;;) {
      for (const one of [circuit, backend.circuit]) await one.whenClosed(signal);
      while (findObstacle()) await sleep(checkEveryMs, undefined, { signal });
      hasFailed = false;
      void jobs.resume();
      while (!circuit.isOpen && !backend.circuit.isOpen && !findObstacle() && !hasFailed) {
        await sleep(checkEveryMs, undefined, { signal });
      }
      await jobs.pause(true);
      await sleep(pauseMs, undefined, { signal });
    }
  };

  const setAside = createSetAside(dependencies);
  const apply = createApplyJob(dependencies, pauses, setAside, signal);
  let worker: JobWorker | undefined;
  const working = (async () => {
    worker = await backend.openWorker(
      apply,
      // A job may be repeated, so one whose worker died is taken again without limit.
      { concurrency, maxStalledCount: 2 ** 31 - 1 },
      signal,
    );
    await takeJobs(worker);
  })().catch((error) => {
    if (!signal.aborted) log.error({ err: error }, 'the worker ended');
  });

  /** Repeats a task while PostgreSQL is available, with a pause after each run. */
  const repeat = async (name: string, everyMs: number, task: () => Promise<void>) => {
    const reportRetry = report(`${name} failed and is retried`);
    while (!signal.aborted) {
      try {
        await circuit.whenClosed(signal);
        await task();
      } catch (error) {
        if (signal.aborted) return;
        const unavailable = await Promise.all([circuit, backend.circuit].map((one) => one.probeAfter(error)));
        if (!unavailable.includes(true) && !(error instanceof QueueUnavailable)) reportRetry(error);
      }
      await sleep(everyMs, undefined, { signal }).catch(() => {});
    }
  };

  const heartbeat = keepHeartbeat(db, families);
  const alone = <T>(work: () => Promise<T>) => leases.run('sweep', work, { keep: true });
  const sweep = createSweep(db, queue, config.sweep.olderThanMs, alone);
  const sweepOnce = async () => {
    if (backend.circuit.isOpen || findObstacle()) return;
    const found = await sweep(pauses.due()).catch((error) => {
      refusedAt = performance.now();
      throw error;
    });
    if (found) log.debug({ count: found }, 'deliveries without a job were enqueued');
  };

  const applyPending = createApplyWithoutJobs(db, apply, concurrency, alone);
  let usesJobs = true;
  const applyWithoutJobs = async () => {
    const obstacle = findObstacle();
    if (!obstacle !== usesJobs) {
      usesJobs = !obstacle;
      if (obstacle) log.warn({ reason: obstacle }, 'deliveries are applied without jobs');
      else log.info('deliveries get jobs again');
    }
    if (!usesJobs) await applyPending(pauses.due());
  };

  const reportStuck = report(
    'deliveries wait in Redis, because two databases have the same address: set QUEUE_PREFIX',
  );
  let hasDrained = false;
  /** Once everything is drained: Redis's append-only file still contains the callbacks. */
  const forget = async (fallback: FallbackStream) => {
    if (!hasDrained) return;
    try {
      hasDrained = !(await fallback.rewriteLog());
    } catch (error) {
      hasDrained = false;
      const message =
        'Redis does not permit BGREWRITEAOF: its append-only file contains the drained callbacks until it rewrites it';
      log.warn({ err: error }, message);
    }
  };
  const drainAll = async (fallback: FallbackStream) => {
    if (backend.circuit.isOpen) return;
    if ((await fallback.count()) === 0) return forget(fallback);
    let total = 0;
    try {
      for (let count: number | undefined; count !== 0 && !signal.aborted; total += count) {
        if (!(await fallback.mayDrain())) return;
        count = await leases.run('drain', () => drain(fallback, intake, config.bodyLimitBytes), {
          keep: true,
        });
        if (count === undefined) return;
        if (count + total === 0) reportStuck();
      }
    } finally {
      if (total > 0) {
        hasDrained = true;
        log.info({ count: total }, 'deliveries drained from Redis into PostgreSQL');
      }
    }
  };

  const { fallback } = backend;
  const reconciliation = createReconciliation({ ...dependencies, leases }, signal);
  const repeated = [
    repeat('the heartbeat', heartbeat.everyMs, heartbeat.beat),
    repeat('the sweep', config.sweep.everyMs, sweepOnce),
    repeat('what is set aside', setAsideEveryMs, () =>
      setAside.retry((work) => leases.run('set aside', work, { keep: true }), signal),
    ),
    repeat('the drain of a table', spilledEveryMs, () =>
      drainSpilled(db, intake, (work) => leases.run('spilled', work, { keep: true }), signal),
    ),
    repeat('the retention', retentionCheckMs, createRetention({ ...dependencies, leases }, signal)),
    repeat('an erasure', retentionCheckMs, createErasures(dependencies, signal)),
    reconciliation && repeat('the reconciliation', reconciliationCheckMs, reconciliation),
    repeat('the check of states', stateCheckMs, createStateCheck({ ...dependencies, leases }, signal)),
    repeat('the update of search terms', termsCheckMs, createTermsUpdate(db, leases, signal)),
    repeat('applying without jobs', withoutJobsEveryMs, applyWithoutJobs),
    fallback && repeat('the drain', drainEveryMs, () => drainAll(fallback)),
  ];

  return {
    /** Whether it takes jobs from the queue, or applies deliveries without them. */
    takesJobs: () =>
      (findObstacle() !== undefined && !circuit.isOpen) ||
      (worker?.isRunning() === true && !worker.isPaused()),
    /** Finishes the running jobs and takes no more. */
    stop: async () => {
      stopping.abort();
      await Promise.all([working, ...repeated]);
      if (!circuit.isOpen) {
        await leases.close();
        await heartbeat.end().catch(circuit.probeAfter);
      }
      // Force: a worker would wait for a queue that is unavailable, or refuses.
      await worker?.close(backend.circuit.isOpen || findObstacle() !== undefined);
    },
  };
}
