import { setTimeout as sleep } from 'node:timers/promises';
import { applyDeliveries } from '../apply/apply.ts';
import { type Log, throttled } from '../common/log.ts';
import { countApplied } from '../common/metrics.ts';
import type { Family } from '../families/index.ts';
import type { ApplyJob } from '../queue/backend.ts';
import type { Circuit } from '../receiver/store/circuit.ts';
import { withoutBlocked } from '../store/blocked-deliveries.ts';
import type { Database } from '../store/database.ts';
import type { FamilyPauses } from './family-pauses.ts';
import type { SetAside } from './set-aside.ts';

export interface ApplyJobDependencies {
  /** Its sessions have the settings `planForAnySize`. */
  applying: Database;
  /** The circuit breaker of PostgreSQL. */
  circuit: Circuit;
  log: Log;
}

const retryMs = 1_000;

/** Returns a function that applies the deliveries of a job, and retries until no outage prevents it or the signal aborts. */
export function createApplyJob(
  { applying, circuit, log }: ApplyJobDependencies,
  pauses: FamilyPauses,
  setAside: SetAside,
  signal: AbortSignal,
): ApplyJob {
  const reportRetry = throttled((more, err) => log.warn({ err, ...more }, 'a job failed and is retried'));

  /** A failed probe tells an outage from a defect of one table. */
  const applyWithRetries = async (families: readonly Family[], job: string[]) => {
    for (let retries = 0; ; retries += 1) {
      await circuit.whenClosed(signal);
      try {
        const lockTimeoutMs = setAside.lockTimeoutMs();
        const ids = lockTimeoutMs === undefined ? job : await withoutBlocked(applying.db, job);
        const options = { preparedOn: applying.pool, lockTimeoutMs };
        const result = await applyDeliveries(applying.db, families, ids, options);
        await setAside.add(result.blocked);
        const [first] = result.broken;
        if (!first || !(await circuit.probeAfter(first.error))) return { ...result, retries };
      } catch (error) {
        if (!(await circuit.probeAfter(error))) {
          reportRetry(error);
          await sleep(retryMs, undefined, { signal });
        }
      }
    }
  };

  return async ({ ids, families }, job) => {
    try {
      for (const group of pauses.take(families)) {
        const started = performance.now();
        const result = await applyWithRetries(group, ids);
        pauses.update(group, result);
        const { applied, failed } = result;
        countApplied(result, (performance.now() - started) / 1000);
        for (const { id, error } of failed) {
          // Its SQLSTATE: the rest may differ from delivery to delivery.
          const kind = { code: error.split(' ', 1)[0] };
          log.limited('error', kind, 'a delivery failed', { job, delivery: id, reason: error });
        }
        log.debug({ job, applied, failed: failed.length }, 'deliveries applied');
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  };
}
