import { type Log, throttled } from '../common/log.ts';
import type { Config } from '../config/config.ts';
import type { Family } from '../families/index.ts';
import { notAnalyzed } from '../privacy/analyze.ts';
import { continueErasures } from '../privacy/erasure/erase.ts';
import type { Db } from '../store/tables.ts';

interface Dependencies {
  db: Db;
  families: readonly Family[];
  erasure: Config['erasure'];
  log: Log;
}

/**
 * Returns a function that continues erasures whose process has ended; one that runs for longer than a minute is waited for.
 *
 * @param signal ends an erasure, which is continued later
 */
export function createErasures({ db, families, erasure, log }: Dependencies, signal: AbortSignal) {
  return async (): Promise<void> => {
    let total = 0;
    const report = throttled(() => log.info({ deliveries: total }, 'an erasure continues'));
    const onProgress = (count: number) => {
      signal.throwIfAborted();
      total += count;
      report();
    };
    const onNotAnalyzed = (tables: readonly string[]) => log.warn({ tables }, notAnalyzed);
    for (const { id } of await continueErasures(db, families, { ...erasure, onProgress, onNotAnalyzed }, 60))
      log.info({ erasure: id }, 'an erasure that was interrupted is complete');
  };
}
