import { type Kysely, sql, type Transaction } from 'kysely';
import type { Family } from '../families/index.ts';
import { describeRefusal, isRefusedData } from '../store/faults.ts';
import type { DeliveryStatus, Tables } from '../store/tables.ts';

export interface Applied {
  applied: number;
  /** Rows of the families' tables that changed. */
  changed: number;
  failed: { id: string; error: string }[];
  /** How long the one that came first had waited when the transaction began; null where none did. */
  waitedS?: number | null;
}

/**
 * Applies deliveries to their families' tables, each exactly once: in one transaction with their marking.
 * Those of another status are left alone. If a statement fails because of the data of one, they are applied
 * one by one; the culprit becomes `failed`, with the reason, and the others `applied`.
 *
 * @param statuses `received`, unless something is applied again
 * @throws the database's error when it is not about the data; then nothing has changed for those left
 */
export async function applyDeliveries(
  db: Kysely<Tables>,
  families: readonly Family[],
  ids: readonly string[],
  statuses: readonly DeliveryStatus[] = ['received'],
): Promise<Applied> {
  try {
    return await db.transaction().execute((tx) => applyTogether(tx, families, ids, statuses));
  } catch (error) {
    if (!isRefusedData(error)) throw error;
    if (ids.length === 1) {
      const reason = describeRefusal(error);
      await markFailed(db, ids[0]!, reason);
      return { applied: 0, changed: 0, failed: [{ id: ids[0]!, error: reason }] };
    }
  }
  const total: Applied = { applied: 0, changed: 0, failed: [] };
  for (const id of ids) {
    const { applied, changed, failed, waitedS } = await applyDeliveries(db, families, [id], statuses);
    total.applied += applied;
    total.changed += changed;
    total.failed.push(...failed);
    total.waitedS = Math.max(total.waitedS ?? 0, waitedS ?? 0);
  }
  return total;
}

/**
 * Applies deliveries in a transaction of the caller's.
 *
 * @throws the database's error, about the data of one of them too
 */
export async function applyTogether(
  tx: Transaction<Tables>,
  families: readonly Family[],
  ids: readonly string[],
  statuses: readonly DeliveryStatus[],
): Promise<Applied> {
  const known = new Set(families.map((family) => family.name));
  const waiting = (await lock(tx, ids)).filter(
    ({ status, family }) => statuses.includes(status) && known.has(family),
  );
  let changed = 0;
  // Always in the order of the list, so that two workers touch the tables in the same order.
  for (const family of families) {
    const own = waiting.filter((delivery) => delivery.family === family.name).map(({ id }) => id);
    if (own.length > 0) changed += await family.apply(tx as Transaction<never>, own);
  }
  if (waiting.length > 0)
    await markApplied(
      tx,
      waiting.map(({ id }) => id),
    );
  const waitedS = waiting.length > 0 ? Math.max(...waiting.map(({ waited }) => waited)) : null;
  return { applied: waiting.length, changed, failed: [], waitedS };
}

const waited = sql<number>`extract(epoch from now() - received_at)::float8`.as('waited');

/**
 * In the order of their ids, as the inbox touches them: nobody waits in a circle. By their ids alone: asked
 * for the status too, PostgreSQL would read the index of all that is still to do, for each job.
 */
function lock(tx: Transaction<Tables>, ids: readonly string[]) {
  return tx
    .selectFrom('deliveries')
    .select(['id', 'family', 'status', waited])
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .orderBy('id')
    .forUpdate()
    .execute();
}

/** What is applied again was applied when it first was: the reports on the past go by that. */
async function markApplied(tx: Transaction<Tables>, ids: readonly string[]): Promise<void> {
  await tx
    .updateTable('deliveries')
    .set({ status: 'applied', applied_at: sql<Date>`coalesce(applied_at, now())`, error: null })
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .execute();
}

async function markFailed(db: Kysely<Tables>, id: string, error: string): Promise<void> {
  await db.updateTable('deliveries').set({ status: 'failed', error }).where('id', '=', id).execute();
}
