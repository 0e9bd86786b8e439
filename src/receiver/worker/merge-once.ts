import pg from 'pg';
import type { Family } from '../../callbacks/families/family.ts';
import { tableOf } from '../store/columns.ts';
import { describeError, faultOf, hasState, OtherFamilies } from '../store/errors.ts';
import { inTransaction, prepared } from '../store/pools.ts';
import {
  type MergeCounts,
  type MergeLimits,
  type MergeTotals,
  mergeLock,
  mergeStatements,
  planSettings,
} from '../store/statements/merge-records.ts';

/** The driver's limit: the server's time-outs come first. */
export const driverMs = ({ mergeLockMs, statementMs }: MergeLimits): number => mergeLockMs + statementMs;

export interface MergeContext {
  pool: pg.Pool;
  limits: MergeLimits;
  fingerprint: string;
  family: Family;
  recordsChanges: boolean;
  result: MergeTotals;
}

/** Why nothing was merged. */
export interface MergeFault {
  /**
   * `busy`: others merge; `foreign`: the tables are made for other families; `family`: a statement, a right or the state of a
   * table is at fault. All others: perhaps one of the records, as where a foreign trigger raises an error.
   */
  fault: 'busy' | 'foreign' | 'family' | 'refusal' | 'slow' | 'locked' | 'record';
  reason: string;
}

/**
 * @param size the number of deliveries, or of records
 * @throws the error of an outage; then nothing was changed, either
 */
export async function mergeOnce(
  { pool, limits, fingerprint, family, recordsChanges, result }: MergeContext,
  mode: 'due' | 'records',
  size: number,
  values: unknown[],
): Promise<MergeCounts | MergeFault> {
  const share = size === 1 ? 1 : Math.min(1, Math.max(size / limits.maxDeliveries, 0.2));
  const first = `${mergeLock(limits)}; ${planSettings}; set local lock_timeout = ${limits.lockMs};
    set local statement_timeout = ${Math.ceil(limits.statementMs * share)}; lock table ${tableOf(family)} in row exclusive mode nowait`;
  const query = {
    text: mergeStatements(family)[mode],
    values: [fingerprint, recordsChanges, ...values],
    query_timeout: driverMs(limits),
  };
  let isLocked = false;
  const run = async (client: pg.PoolClient) => {
    isLocked = true;
    const { rows } = await client.query<MergeCounts>(prepared(pool, query));
    return rows[0]!;
  };
  try {
    const counts = await inTransaction(pool, first, run, driverMs(limits));
    if (!counts.isCurrent) return { fault: 'foreign', reason: new OtherFamilies().message };
    for (const count of ['merged', 'written', 'deleted', 'waiting'] as const) result[count] += counts[count];
    return counts;
  } catch (error) {
    if (!isLocked && hasState(error, 'queryCanceled')) return { fault: 'busy', reason: 'others merge' };
    // No record of the table is at fault.
    if (!isLocked && hasState(error, 'lockNotAvailable'))
      return { fault: 'family', reason: `the table ${family.table} is locked by another session` };
    return { fault: faultInMerge(error), reason: describeError(error) };
  }
}

/** @throws the error of an outage */
function faultInMerge(error: unknown): MergeFault['fault'] {
  // The driver's, or our own: no record is at fault.
  if (!(error instanceof pg.DatabaseError)) throw error;
  const { code = '' } = error;
  if (hasState(error, 'queryCanceled')) return 'slow';
  if (hasState(error, 'lockNotAvailable', 'deadlock')) return 'locked';
  // By a pooler: the next attempt has no name.
  if (hasState(error, 'duplicatePreparedStatement', 'invalidStatementName')) return 'record';
  if (/^(42|55)/.test(code)) return 'family';
  const fault = faultOf(error);
  if (fault === 'refusal') return fault;
  if (fault === 'other') return 'record';
  // The other time-outs have ended the session.
  throw error;
}
