import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../common/log.ts';
import type { Config } from '../config/config.ts';
import type { Family } from '../families/index.ts';
import { type CheckedStates, findDueCheck, runCheck } from '../privacy/check-states.ts';
import type { Leases } from '../store/lease.ts';
import type { Db } from '../store/tables.ts';

/** A check takes about three percent of the time, and more while it finds something or passes over a damaged page. */
const pausesPerStep = 30;
const pausesWhileBusy = 3;
/** A damaged page may be repaired meanwhile: what lost its state with it does not wait for longer because the machine is slow. */
const maxPauseMs = 10_000;

/** How long to wait after a step that took some time. @param isBusy whether it found a delivery without a state, or damage */
export const pauseAfter = (tookMs: number, isBusy: boolean): number =>
  Math.min((isBusy ? pausesWhileBusy : pausesPerStep) * tookMs, maxPauseMs);

interface Dependencies {
  db: Db;
  families: readonly Family[];
  leases: Leases;
  config: Pick<Config, 'erasure'>;
  log: Log;
}

/**
 * Returns a function that gives deliveries that lost their state one again, and lists what is lost: those that arrived in
 * the last days every five minutes, all once a day. It ends when nothing is due, or when another process does it.
 *
 * @param signal ends it between two steps
 */
export function createStateCheck(
  { db, families, leases, config, log }: Dependencies,
  signal: AbortSignal,
): () => Promise<void> {
  const settings = { actor: { id: 'worker' }, ...config.erasure };
  let last: string | undefined;
  return async () => {
    while (!signal.aborted) {
      const began = performance.now();
      // Without the lease: who only looks writes nothing.
      if (!(await findDueCheck(db, last))) return;
      const next = async () => {
        const due = await findDueCheck(db, last);
        return due && runCheck(db, families, settings, due);
      };
      const checked = await leases.run('states', next, { keep: true });
      if (!checked) return;
      last = checked.check;
      logChecked(log, checked);
      const isBusy = checked.requeued.length > 0 || checked.damaged !== undefined;
      const pauseMs = pauseAfter(performance.now() - began, isBusy);
      await sleep(pauseMs, undefined, { signal }).catch(() => {});
    }
  };
}

function logChecked(log: Log, { requeued, erased, lost, damaged }: CheckedStates): void {
  const told = (ids: readonly string[]) => ({ count: ids.length, deliveries: ids.slice(0, 5) });
  if (requeued.length > 0) log.warn(told(requeued), 'deliveries had lost their state: they have one again');
  if (erased > 0) log.info({ count: erased }, 'deliveries without a state were erased, as others before');
  if (lost.length > 0) log.error(told(lost), 'deliveries are lost: they have a state, and are not in inbox');
  if (damaged)
    log.limited(
      'error',
      { code: damaged.code },
      'a page is damaged: the check of states passes over it',
      damaged,
    );
}
