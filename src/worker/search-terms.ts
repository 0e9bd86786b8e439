import { setTimeout as sleep } from 'node:timers/promises';
import type { Leases } from '../store/lease.ts';
import { areTermsOutdated, updateTerms } from '../store/search-terms.ts';
import type { Db } from '../store/tables.ts';

/** Callbacks come first: an update takes at most a quarter of the time. */
const pausesPerStep = 3;

/** Returns a function that makes the search terms of all changed receipts. */
export function createTermsUpdate(db: Db, leases: Leases, signal: AbortSignal): () => Promise<void> {
  return async () => {
    for (let hasMore = await areTermsOutdated(db); hasMore && !signal.aborted; ) {
      const began = performance.now();
      const updated = await leases.run('search terms', ({ fence }) => updateTerms(db, fence), { keep: true });
      hasMore = updated?.hasMore === true;
      if (hasMore)
        await sleep(pausesPerStep * (performance.now() - began), undefined, { signal }).catch(() => {});
    }
  };
}
