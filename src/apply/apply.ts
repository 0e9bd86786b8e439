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
  /** Families of which nothing could be applied for a reason that is not one delivery's data. */
  broken: { family: string; error: pg.DatabaseError }[];
  /** How long the one that came first had waited when the statement began; null where none did. */
  waitedS?: number | null;
}

const nothing: Applied = { applied: 0, changed: 0, failed: [], broken: [] };

/**
 * Applies deliveries to their families' tables, each exactly once: in one statement with their marking. Those
 * of another status are left alone. If the statement fails, each family is tried by itself, so that what is
 * wrong with one table does not keep the others waiting. If a family's fails because of the data of one, they
 * are applied one by one; the culprit becomes `failed`, with the reason, and the others `applied`.
 *
 * @param statuses `received`, unless something is applied again
 * @throws the driver's error where the connection broke or was late
 */
export async function applyDeliveries(
  db: Kysely<Tables>,
  families: readonly Family[],
  ids: readonly string[],
  statuses: readonly DeliveryStatus[] = ['received'],
): Promise<Applied> {
  try {
    return await applyTogether(db, families, ids, statuses);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    if (families.length > 1) {
      return applyParts(families, (family) => applyDeliveries(db, [family], ids, statuses));
    }
    if (!isRefusedData(error)) return { ...nothing, broken: [{ family: families[0]!.name, error }] };
    if (ids.length > 1) return applyParts(ids, (id) => applyDeliveries(db, families, [id], statuses));
    const reason = describeRefusal(error);
    const isMarked = await markFailed(db, ids[0]!, statuses, reason);
    return { ...nothing, failed: isMarked ? [{ id: ids[0]!, error: reason }] : [] };
  }
}

/**
 * Applies deliveries, all of them or, when it throws, none.
 *
 * The statement is not a prepared one: its plan would be kept, and a plan that suits tables which are nearly
 * empty reads them from end to end once they are not.
 *
 * @throws the database's error, about the data of one of them too
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

/**
 * Applies parts one after the other.
 *
 * @throws the error of a part, at once
 */
export async function applyParts<Part>(
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

/** @returns false where another worker has changed its status meanwhile: then that stays */
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
