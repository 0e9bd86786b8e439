import { applyDeliveries } from '../../src/apply/apply.ts';
import { families } from '../../src/families/index.ts';
import { insertDeliveries } from '../../src/intake/insert-deliveries.ts';
import { deliveryOf } from './callbacks.ts';
import type { TestDatabase } from './database.ts';

type Callback = Parameters<typeof deliveryOf>[0];

/** Inserts callbacks as deliveries, without applying them; returns their ids. */
export async function insertCallbacks(database: TestDatabase, callbacks: object[]): Promise<string[]> {
  const deliveries = callbacks.map((callback) => deliveryOf(callback as Callback));
  await insertDeliveries(database.pool, deliveries);
  return deliveries.map(({ id }) => id);
}

/** Inserts callbacks as deliveries and applies them; returns their ids. */
export async function apply(database: TestDatabase, callbacks: object[]): Promise<string[]> {
  const ids = await insertCallbacks(database, callbacks);
  await applyDeliveries(database.db, families, ids);
  return ids;
}

export async function clear(database: TestDatabase): Promise<void> {
  await database.pool.query('truncate inbox, receipts, consent_forms, review_requests, quarantine');
}

/** A time as callbacks contain it, in seconds. */
export const seconds = (moment: string) => Date.parse(moment) / 1000;
