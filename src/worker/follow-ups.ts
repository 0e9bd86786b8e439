import type { Log } from '../common/log.ts';
import type { Config } from '../config/config.ts';
import { findDays, findReconciled } from '../reconcile/due.ts';
import { countDue, type FollowUpCounts, followUp } from '../reconcile/follow-up.ts';
import type { Lease, Leases } from '../store/lease.ts';
import type { ReconciliationDependencies } from './reconciliation.ts';

export interface FollowUpDependencies
  extends Pick<ReconciliationDependencies, 'db' | 'intake' | 'openPlatform'> {
  config: Pick<Config, 'reconcile' | 'followUps'>;
  leases: Leases;
  log: Log;
}

const retryMs = 15 * 60_000;
const everyMs = 60 * 60_000;
const minutes = 5;

/**
 * Returns a function that follows up what the last passes of the reconciliation were about, and what is to be asked for again:
 * once an hour, and in parts of some minutes. Undefined: RECONCILE or RECONCILE_WITH is not set.
 *
 * @param signal ends it between two requests
 */
export function createFollowUps(
  { db, config, intake, openPlatform, leases, log }: FollowUpDependencies,
  signal: AbortSignal,
) {
  const { days } = config.reconcile ?? {};
  const { with: wanted, perMinute } = config.followUps;
  if (!days || wanted.length === 0 || !openPlatform) return undefined;
  const run = async (lease: Lease) => {
    // The business of the credentials: a pass has found it.
    const business = await findReconciled(db);
    if (business === undefined) return false;
    const { isDone: _, ...range } = await findDays(db, days);
    const platform = await openPlatform();
    const most = perMinute * minutes;
    const until = AbortSignal.any([signal, lease.signal]);
    const options = {
      db,
      intake,
      platform,
      business,
      signal: until,
      ...range,
      with: wanted,
      perMinute,
      most,
    };
    try {
      const due = Object.values(await countDue(options));
      if (due.every((count) => count === 0)) return true;
      const answers = await followUp(options);
      log.info({ ...range, ...answers }, 'the platform was asked for follow-ups');
      return sumOf(answers) < most;
    } finally {
      await platform.close();
    }
  };
  let next = 0;
  return async (): Promise<void> => {
    if (performance.now() < next) return;
    next = performance.now() + retryMs;
    const isDone = await leases.run('follow-ups', run);
    if (isDone) next = performance.now() + everyMs;
    // The first pass has not ended, or there is more.
    if (isDone === false) next = 0;
  };
}

const sumOf = (answers: Partial<Record<string, FollowUpCounts>>) =>
  Object.values(answers).reduce((sum, one) => sum + one!.found + one!.unknown + one!.unreadable, 0);
