import { coreOf, storeAndMerge } from '../support/core.ts';
import type { ReceiverDatabase } from '../support/receiver-database.ts';

/** Stores callbacks, which arrive in this order, and merges what waits. */
export const apply = (database: Pick<ReceiverDatabase, 'db' | 'pool'>, callbacks: readonly object[]) =>
  storeAndMerge(coreOf(database), ...callbacks);
