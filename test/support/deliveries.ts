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

/**
 * Inserts deliveries with any status and time of receipt.
 *
 * @param query selects the columns of inbox, and `status`
 */
export async function insertWithStatus(database: TestDatabase, query: string): Promise<void> {
  const common = 'id, family, received_at';
  await database.rows(`
    with made as materialized (${query}), stored as (
      insert into inbox (id, event, family, client_id, business_id, event_time, envelope, received_at)
      select id, event, family, client_id, business_id, event_time, envelope, received_at from made
    ), pending as (
      insert into pending_deliveries (${common}) select ${common} from made where status = 'received'
    ), failed as (
      insert into failed_deliveries (${common}, error) select ${common}, 'broken' from made where status = 'failed'
    )
    insert into applied_deliveries (${common}, business_id, event_time, applied_at)
    select ${common}, business_id, event_time, received_at from made where status = 'applied'`);
}

/** Gives applied deliveries another status, without taking their rows back. */
export async function moveApplied(
  database: TestDatabase,
  condition: string,
  status: 'pending' | 'failed',
): Promise<void> {
  const columns = status === 'failed' ? 'id, family, received_at, error' : 'id, family, received_at';
  await database.rows(`
    with moved as (delete from applied_deliveries where ${condition} returning *, 'broken' as error)
    insert into ${status}_deliveries (${columns}) select ${columns} from moved`);
}

/** Sets the times of deliveries, `t`, to expressions, in every table that contains them. */
export async function setTimes(
  database: TestDatabase,
  { received_at, applied_at }: { received_at: string; applied_at: string },
  condition = 'true',
): Promise<void> {
  for (const table of ['inbox', 'pending_deliveries', 'failed_deliveries', 'applied_deliveries']) {
    const applied = table === 'applied_deliveries' ? `, applied_at = ${applied_at}` : '';
    await database.rows(`update ${table} t set received_at = ${received_at}${applied} where ${condition}`);
  }
}

const derived = [
  'applied_deliveries',
  'failed_deliveries',
  'pending_deliveries',
  'resends',
  'receipt_versions',
  'appointment_versions',
  'reconciled_deliveries',
];

/** What `clear` empties after erasures. */
export const erasureTables = ['erased', 'withheld.records', 'erasures', 'erased_receipts', 'patient_holds'];

/** Empties the tables of deliveries and rejected bodies, and others. For few rows this is faster than `truncate`. */
export async function clear(database: TestDatabase, ...others: string[]): Promise<void> {
  const tables = [...derived, 'inbox', ...families.map(({ table }) => table), 'quarantine', ...others];
  await database.rows(tables.map((table) => `delete from ${table};`).join(''));
}

/** A time as callbacks contain it, in seconds. */
export const seconds = (moment: string) => Date.parse(moment) / 1000;

const rowsOrder = {
  inbox: 'id',
  pending_deliveries: 'id',
  failed_deliveries: 'id',
  applied_deliveries: 'id',
  receipts: 'delivery_id',
  receipt_versions: 'delivery_id',
  consent_forms: 'delivery_id',
  review_requests: 'delivery_id',
};

/** Every row of deliveries and of the families' tables, without the times at which they were received and applied. */
export const everyRow = (database: TestDatabase): Promise<Record<string, unknown>[][]> =>
  Promise.all(
    Object.entries(rowsOrder).map(([table, order]) =>
      database.rows(
        `select to_jsonb(t) - array['received_at', 'applied_at'] as row from ${table} t order by ${order}`,
      ),
    ),
  );
