import { type Log, throttled } from '../common/log.ts';
import type { Config } from '../config/config.ts';
import type { Intake } from '../intake/intake.ts';
import { findBusiness } from '../reconcile/business.ts';
import { compareWithPlatform, type DailyClient, isComparedToday } from '../reconcile/daily.ts';
import type { Window } from '../reconcile/days.ts';
import { findDays } from '../reconcile/due.ts';
import type { Platform } from '../reconcile/platform.ts';
import { beginPass, reconcile } from '../reconcile/reconcile.ts';
import type { Receiver } from '../reconcile/subscriptions.ts';
import type { Lease, Leases } from '../store/lease.ts';
import type { Db } from '../store/tables.ts';

/** What a day's pass reads of the platform. */
export type DailyPlatform = Platform & DailyClient;

export interface ReconciliationDependencies extends Omit<Receiver, 'config'> {
  db: Db;
  config: Pick<Config, 'reconcile'> & Receiver['config'];
  intake: Pick<Intake, 'store'>;
  /** undefined: RECONCILE is not set. */
  openPlatform?: (() => Promise<DailyPlatform>) | undefined;
  leases: Leases;
  log: Log;
}

const [firstRetryMs, longestRetryMs] = [60_000, 15 * 60_000];

/**
 * Returns a function that compares subscriptions, names and the last days' appointments with the platform, once a day after
 * midnight; what fails is tried again a minute later, then after growing pauses up to a quarter of an hour. One process at a
 * time does. Undefined: RECONCILE is not set.
 *
 * @param stopping ends a pass between two pages
 */
export function createReconciliation(dependencies: ReconciliationDependencies, stopping: AbortSignal) {
  const { db, config, openPlatform, leases } = dependencies;
  const { days } = config.reconcile ?? {};
  if (!days || !openPlatform) return undefined;
  const readToday = async () => ({ ...(await findDays(db, days)), isCompared: await isComparedToday(db) });
  /** @returns whether nothing is left to do today */
  const run = async (lease: Lease): Promise<boolean> => {
    let { isDone, isCompared, ...range } = await readToday();
    if (isDone && isCompared) return true;
    const signal = AbortSignal.any([stopping, lease.signal]);
    const platform = await openPlatform();
    if (!isCompared) {
      const actor = { id: 'worker' };
      isCompared = await compareWithPlatform({ ...dependencies, client: platform, actor }, signal);
    }
    if (!isDone) await runPass(dependencies, platform, range, signal);
    return isCompared;
  };
  const runIfDue = async () => {
    const { isDone, isCompared } = await readToday();
    return (isDone && isCompared) || leases.run('reconciliation', run);
  };
  let next = 0;
  let retryMs = firstRetryMs;
  return async (): Promise<void> => {
    if (performance.now() < next) return;
    const tryLater = () => {
      next = performance.now() + retryMs;
      retryMs = Math.min(2 * retryMs, longestRetryMs);
    };
    const isDone = await runIfDue().catch((error) => {
      tryLater();
      throw error;
    });
    if (isDone === false) tryLater();
    else retryMs = firstRetryMs;
  };
}

/** Compares the appointments of some days, and fills what is missing. */
async function runPass(
  { db, intake, log }: ReconciliationDependencies,
  platform: Platform,
  range: Window,
  signal: AbortSignal,
): Promise<void> {
  const business = await findBusiness(db, platform, undefined, signal).catch(async (error) => {
    signal.throwIfAborted();
    // It has begun, as far as somebody asks why none has ended.
    await beginPass(db, '', range);
    throw error;
  });
  const report = throttled(() => log.info({ ...range }, 'the reconciliation continues'));
  const counts = await reconcile({ db, intake, platform, business, ...range, signal, onProgress: report });
  log.info({ ...range, ...counts }, 'the appointments were compared with the platform');
}
