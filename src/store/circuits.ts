import type { Log } from '../common/log.ts';
import { timeLimits } from '../common/time-limits.ts';
import { type Circuit, createCircuit, stableAfterMs } from '../receiver/store/circuit.ts';
import { isLockTimeout } from './faults.ts';
import type { LockHolder } from './lock-holders.ts';

export interface CircuitDependencies {
  log: Log;
  /** The time limit of a commit. */
  timeoutMs?: number | undefined;
}

/** @param probe a write to Redis */
export function redisCircuit(probe: () => Promise<unknown>, dependencies: CircuitDependencies): Circuit {
  return createCircuit({
    store: 'Redis',
    timeoutMs: dependencies.timeoutMs ?? timeLimits().redisMs,
    probe,
    isOutage: () => true,
    onChange: reportOutage('Redis', dependencies),
  });
}

/**
 * A listener for a circuit that logs two lines per outage, however many calls it fails. Outages within seconds of each other, as on an unstable
 * link, are logged as one.
 */
export function reportOutage(
  store: string,
  { log }: CircuitDependencies,
  findHolders?: () => Promise<LockHolder[] | undefined>,
) {
  let since = 0;
  let ending: NodeJS.Timeout | undefined;
  return (unavailable: boolean, cause?: unknown) => {
    if (!unavailable) {
      const seconds = Math.round((performance.now() - since) / 1000);
      ending = setTimeout(() => {
        ending = undefined;
        log.warn({ store, seconds }, 'store available again');
      }, stableAfterMs).unref();
    } else if (ending) {
      clearTimeout(ending);
      ending = undefined;
    } else {
      since = performance.now();
      const report = (lockedBy?: LockHolder[]) =>
        log.error({ err: cause, store, lockedBy }, 'store unavailable');
      if (findHolders && isLockTimeout(cause)) void findHolders().then(report);
      else report();
    }
  };
}
