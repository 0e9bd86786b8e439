import { CompiledQuery, type Kysely } from 'kysely';
import pg from 'pg';
import type { Family } from '../families/index.ts';
import { describeRefusal, isRefusedData } from '../store/faults.ts';
import type { DeliveryStatus, Tables } from '../store/tables.ts';
import { applyStatement } from './apply-statement.ts';

export interface Applied {
  applied: number;
  /** Rows of the families' tables that changed. */
  changed: number;
  failed: { id: string; error: string }[];
  /** Families whose table could not be written, for a reason other than a delivery's data. */
  broken: { family: string; error: pg.DatabaseError }[];
  /** Seconds from the receipt of the oldest delivery to the statement; null without deliveries. */
  waitedS?: number | null;
}

const nothing: Applied = { applied: 0, changed: 0, failed: [], broken: [] };

/**
 * Applies deliveries to their families' tables, each exactly once: the statement also marks them `applied`. Deliveries
 * with another status are skipped. If the statement fails, the families are applied separately, so that a broken table
 * does not delay the others. If a family fails because of a delivery's data, its deliveries are applied one by one; the
 * faulty one becomes `failed`, with the reason.
 *
 * @param statuses other than `received` for a replay
 * @param dryRun every transaction is rolled back, so that nothing changes
 * @throws the driver's error where the connection broke or timed out
 */
export async function applyDeliveries(
  db: Kysely<Tables>,
  families: readonly Family[],
  ids: readonly string[],
  statuses: readonly DeliveryStatus[] = ['received'],
  dryRun = false,
): Promise<Applied> {
  const part = (some: readonly Family[], those: readonly string[]) =>
    applyDeliveries(db, some, those, statuses, dryRun);
  try {
    return await (dryRun ? preview : applyTogether)(db, families, ids, statuses);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    if (families.length > 1) return applyEach(families, (family) => part([family], ids));
    if (!isRefusedData(error)) return { ...nothing, broken: [{ family: families[0]!.name, error }] };
    if (ids.length > 1) return applyEach(ids, (id) => part(families, [id]));
    const reason = describeRefusal(error);
    const isMarked = dryRun || (await markFailed(db, ids[0]!, statuses, reason));
    return { ...nothing, failed: isMarked ? [{ id: ids[0]!, error: reason }] : [] };
  }
}

/**
 * Applies all deliveries or, when it throws, none.
 *
 * The statement is not prepared: its plan would be cached, and a plan for nearly empty tables scans them completely
 * once they are large.
 *
 * @throws the database's error, also for a delivery's data
 */
export async function applyTogether(
  db: Kysely<Tables>,
  families: readonly Family[],
  ids: readonly string[],
  statuses: readonly DeliveryStatus[],
): Promise<Applied> {
  const query = CompiledQuery.raw(applyStatement(families), [ids, statuses]);
  const { rows } = await db.executeQuery(query as CompiledQuery<Pick<Applied, 'applied' | 'changed'>>);
  return { ...nothing, ...rows[0]! };
}

/** The result that `applyTogether` would have. */
async function preview(...[db, ...rest]: Parameters<typeof applyTogether>): Promise<Applied> {
  const tx = await db.startTransaction().execute();
  try {
    return await applyTogether(tx, ...rest);
  } finally {
    await tx.rollback().execute();
  }
}

/**
 * Applies parts one after the other and adds up the results.
 *
 * @throws the error of a part, at once
 */
async function applyEach<Part>(
  parts: readonly Part[],
  apply: (part: Part) => Promise<Applied>,
): Promise<Applied> {
  const total = { ...nothing };
  for (const part of parts) {
    const { applied, changed, failed, broken, waitedS } = await apply(part);
    total.applied += applied;
    total.changed += changed;
    total.failed = [...total.failed, ...failed];
    total.broken = [...total.broken, ...broken];
    total.waitedS = Math.max(total.waitedS ?? 0, waitedS ?? 0);
  }
  return total;
}

/** @returns false where another worker has changed the status meanwhile, which then stays */
async function markFailed(
  db: Kysely<Tables>,
  id: string,
  statuses: readonly DeliveryStatus[],
  error: string,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('deliveries')
    .set({ status: 'failed', error })
    .where('id', '=', id)
    .where('status', 'in', statuses)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}
