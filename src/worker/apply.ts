import { type Kysely, sql, type Transaction } from 'kysely';
import type { Family } from '../families/index.ts';
import { describeRefusal, isRefusedData } from '../store/faults.ts';
import type { Tables } from '../store/tables.ts';

export interface Applied {
  applied: number;
  failed: { id: string; error: string }[];
}

/**
 * Applies deliveries to their families' tables, each exactly once: in one transaction with their marking.
 * Those that are not `received` are left alone. If a statement fails because of the data of one, they are
 * applied one by one; the culprit becomes `failed`, with the reason, and the others `applied`.
 *
 * @throws the database's error when it is not about the data; then nothing has changed for those left
 */
export async function applyDeliveries(
  db: Kysely<Tables>,
  families: readonly Family[],
  ids: readonly string[],
): Promise<Applied> {
  try {
    return { applied: await applyTogether(db, families, ids), failed: [] };
  } catch (error) {
    if (!isRefusedData(error)) throw error;
    if (ids.length === 1) {
      const reason = describeRefusal(error);
      await markFailed(db, ids[0]!, reason);
      return { applied: 0, failed: [{ id: ids[0]!, error: reason }] };
    }
  }
  const total: Applied = { applied: 0, failed: [] };
  for (const id of ids) {
    const { applied, failed } = await applyDeliveries(db, families, [id]);
    total.applied += applied;
    total.failed.push(...failed);
  }
  return total;
}

function applyTogether(
  db: Kysely<Tables>,
  families: readonly Family[],
  ids: readonly string[],
): Promise<number> {
  return db.transaction().execute(async (tx) => {
    const waiting = await lockReceived(tx, families, ids);
    if (waiting.length === 0) return 0;
    // Always in the order of the list, so that two workers touch the tables in the same order.
    for (const family of families) {
      const own = waiting.filter((delivery) => delivery.family === family.name).map(({ id }) => id);
      if (own.length > 0) await family.apply(tx as Transaction<never>, own);
    }
    await markApplied(
      tx,
      waiting.map(({ id }) => id),
    );
    return waiting.length;
  });
}

/** In the order of their ids, as the inbox touches them: nobody waits in a circle. */
function lockReceived(tx: Transaction<Tables>, families: readonly Family[], ids: readonly string[]) {
  return tx
    .selectFrom('deliveries')
    .select(['id', 'family'])
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .where('status', '=', 'received')
    .where(
      'family',
      'in',
      families.map((family) => family.name),
    )
    .orderBy('id')
    .forUpdate()
    .execute();
}

async function markApplied(tx: Transaction<Tables>, ids: readonly string[]): Promise<void> {
  await tx
    .updateTable('deliveries')
    .set({ status: 'applied', applied_at: sql<Date>`now()`, error: null })
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .execute();
}

async function markFailed(db: Kysely<Tables>, id: string, error: string): Promise<void> {
  await db
    .updateTable('deliveries')
    .set({ status: 'failed', error })
    .where('id', '=', id)
    .where('status', '=', 'received')
    .execute();
}
