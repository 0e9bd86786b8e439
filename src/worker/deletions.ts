import { setTimeout as sleep } from 'node:timers/promises';
import { trimFeed } from '../changes/open-feed.ts';
import { type Log, throttled } from '../common/log.ts';
import type { Config } from '../config/config.ts';
import type { Family } from '../families/index.ts';
import { notAnalyzed } from '../privacy/analyze.ts';
import { sum } from '../privacy/counts.ts';
import { continueErasures } from '../privacy/erasure/erase.ts';
import { pauseFor, runRetention } from '../privacy/retention/retention.ts';
import type { Leases } from '../store/lease.ts';
import type { Db } from '../store/tables.ts';

export interface DeletionDependencies {
  db: Db;
  families: readonly Family[];
  /** Called when a pass of the retention is complete. */
  onRetained?: (() => void) | undefined;
  log: Log;
}

const everyMs = 24 * 60 * 60 * 1000;

/**
 * Returns a function that runs a pass of the retention when one is due: the first at once, then one a day. One process at a time runs one.
 *
 * @param signal ends a pass between two steps
 */
export function createRetention(
  {
    db,
    families,
    config,
    leases,
    onRetained,
    log,
  }: DeletionDependencies & { config: Pick<Config, 'retention'>; leases: Leases },
  signal: AbortSignal,
) {
  let next = 0;
  return async (): Promise<void> => {
    if (performance.now() < next) return;
    const total: Record<string, number> = {};
    const report = throttled(() => log.info({ deleted: total }, 'retention deletes'));
    const onStep = (policy: string, rows: number) => {
      total[policy] = (total[policy] ?? 0) + rows;
      report();
    };
    const pause = (ms: number) => sleep(pauseFor(ms), undefined, { signal });
    const passed = await leases.run('retention', ({ fence }) =>
      runRetention(db, families, config.retention, { actor: { id: 'worker' }, onStep, pause, fence }),
    );
    if (!passed) return;
    await trimFeed(db);
    next = performance.now() + everyMs;
    onRetained?.();
    if (sum(total) > 0) log.info({ deleted: total }, 'retention pass completed');
  };
}

/**
 * Returns a function that continues erasures whose process has ended; one that runs for longer than a minute is waited for.
 *
 * @param signal ends an erasure, which is continued later
 */
export function createErasures(
  { db, families, config, log }: DeletionDependencies & { config: Pick<Config, 'erasure'> },
  signal: AbortSignal,
) {
  return async (): Promise<void> => {
    let total = 0;
    const report = throttled(() => log.info({ deliveries: total }, 'an erasure continues'));
    const onProgress = (count: number) => {
      signal.throwIfAborted();
      total += count;
      report();
    };
    const onNotAnalyzed = (tables: readonly string[]) => log.warn({ tables }, notAnalyzed);
    const settings = { ...config.erasure, onProgress, onNotAnalyzed };
    for (const { id } of await continueErasures(db, families, settings, 60))
      log.info({ erasure: id }, 'an erasure that was interrupted is complete');
  };
}
