import { setTimeout as sleep } from 'node:timers/promises';
import { type Log, throttled } from '../common/log.ts';
import type { Observer } from '../common/observer.ts';
import type { Family } from '../families/index.ts';
import { sum } from '../privacy/counts.ts';
import { pauseFor, type Retention, runRetention } from '../privacy/retention/retention.ts';
import { withAdvisoryLock } from '../store/advisory-lock.ts';
import type { Db } from '../store/tables.ts';
import { checkSums } from './sums.ts';

export interface RetentionDependencies {
  db: Db;
  families: readonly Family[];
  retention: Retention;
  observe?: Pick<Observer, 'deleted' | 'retained' | 'wrongSums'> | undefined;
  log: Log;
}

const everyMs = 24 * 60 * 60 * 1000;

/**
 * Returns a function that runs a pass of the retention when one is due, and checks the sums of reports: the first at once, then
 * one a day. One process at a time runs one.
 *
 * @param signal ends a pass between two steps
 */
export function createRetention(
  { db, families, retention, observe, log }: RetentionDependencies,
  signal: AbortSignal,
): () => Promise<void> {
  let next = 0;
  return async () => {
    if (performance.now() < next) return;
    const total: Record<string, number> = {};
    const report = throttled(() => log.info({ deleted: total }, 'retention deletes'));
    const onStep = (policy: string, rows: number) => {
      total[policy] = (total[policy] ?? 0) + rows;
      observe?.deleted?.(policy, rows);
      report();
    };
    const pause = (ms: number) => sleep(pauseFor(ms), undefined, { signal });
    const passed = await withAdvisoryLock(db, 'retention', () =>
      runRetention(db, families, retention, { actor: { id: 'worker' }, onStep, pause }),
    );
    if (!passed) return;
    await checkSums(db, { log, observe });
    next = performance.now() + everyMs;
    observe?.retained?.();
    if (sum(total) > 0) log.info({ deleted: total }, 'retention pass completed');
  };
}
