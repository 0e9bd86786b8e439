import { families } from '../../src/callbacks/families/index.ts';
import { createLog } from '../../src/common/log.ts';
import { insertDeliveries } from '../../src/receiver/store/insert-deliveries.ts';
import { createMerge } from '../../src/receiver/worker/merge.ts';
import { deliveryOf } from '../support/intake.ts';
import type { ReceiverDatabase } from '../support/receiver-database.ts';

/** Stores callbacks, which arrive in this order, and merges what waits. */
export async function apply(database: Pick<ReceiverDatabase, 'pool'>, callbacks: readonly object[]) {
  const deliveries = callbacks.map((callback) => deliveryOf(callback));
  if (deliveries.length > 0) await insertDeliveries(database.pool, deliveries, 60_000);
  const merge = createMerge({ pool: database.pool, families, log: createLog('silent') });
  for (const { name } of families) await merge(name);
}
