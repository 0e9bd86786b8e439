import { setTimeout as sleep } from 'node:timers/promises';
import { updateTerms } from '../store/search-terms.ts';
import type { Db } from '../store/tables.ts';

/** Callbacks come first: an update takes at most a quarter of the time. */
const pausesPerStep = 3;

/** Returns a function that makes the search terms of all changed receipts. */
export function createTermsUpdate(db: Db, signal: AbortSignal): () => Promise<void> {
  return async () => {
    for (let hasMore = true; hasMore && !signal.aborted; ) {
      const began = performance.now();
      ({ hasMore } = await updateTerms(db));
      if (hasMore)
        await sleep(pausesPerStep * (performance.now() - began), undefined, { signal }).catch(() => {});
    }
  };
}
