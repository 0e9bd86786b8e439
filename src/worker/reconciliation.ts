import { type Log, throttled } from '../common/log.ts';
import type { Observer } from '../common/observer.ts';
import type { Config } from '../config/config.ts';
import type { Intake } from '../intake/intake.ts';
import { findBusiness } from '../reconcile/business.ts';
import { findDays } from '../reconcile/due.ts';
import { beginPass } from '../reconcile/notes.ts';
import type { Platform } from '../reconcile/platform.ts';
import { reconcile } from '../reconcile/reconcile.ts';
import { withAdvisoryLock } from '../store/advisory-lock.ts';
import type { Db } from '../store/tables.ts';

export interface ReconciliationDependencies {
  db: Db;
  config: Pick<Config, 'reconcile' | 'followUps'>;
  intake: Pick<Intake, 'store'>;
  /** undefined: RECONCILE is not set. */
  openPlatform?: (() => Promise<Platform>) | undefined;
  observe?: Pick<Observer, 'compared' | 'reconciled'> | undefined;
  log: Log;
}

const [firstRetryMs, longestRetryMs] = [60_000, 15 * 60_000];

/**
 * Returns a function that compares the last days with the platform, once a day after midnight; a pass that fails is continued a
 * minute later, then after growing pauses up to a quarter of an hour. One process at a time runs one. Undefined: RECONCILE is not set.
 *
 * @param signal ends a pass between two pages, which is continued later
 */
export function createReconciliation(
  { db, config, intake, openPlatform, observe, log }: ReconciliationDependencies,
  signal: AbortSignal,
) {
  const { days } = config.reconcile ?? {};
  if (!days || !openPlatform) return undefined;
  const run = async () => {
    const { isDone, ...range } = await findDays(db, days);
    if (isDone) return false;
    const platform = await openPlatform();
    try {
      const business = await findBusiness(db, platform, undefined, signal).catch(async (error) => {
        signal.throwIfAborted();
        // It has begun, as far as somebody asks why none has ended.
        await beginPass(db, '', range);
        throw error;
      });
      const report = throttled(() => log.info({ ...range }, 'the reconciliation continues'));
      const onProgress: Observer['compared'] = (counts) => {
        observe?.compared?.(counts);
        report();
      };
      const { counts, unsettled } = await reconcile({
        db,
        intake,
        platform,
        business,
        ...range,
        notesPrescriptions: config.followUps.with.includes('prescriptions'),
        signal,
        onProgress,
      });
      log.info({ ...range, ...counts }, 'the appointments were compared with the platform');
      if (unsettled.length > 0)
        log.warn({ unsettled }, 'the lists of these days changed all the time they were read');
    } finally {
      await platform.close();
    }
    return true;
  };
  let next = 0;
  let retryMs = firstRetryMs;
  return async (): Promise<void> => {
    if (performance.now() < next) return;
    const passed = await withAdvisoryLock(db, 'reconciliation', run).catch((error) => {
      next = performance.now() + retryMs;
      retryMs = Math.min(2 * retryMs, longestRetryMs);
      throw error;
    });
    retryMs = firstRetryMs;
    if (passed) observe?.reconciled?.();
  };
}
