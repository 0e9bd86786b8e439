import pg from 'pg';
import type { Family } from '../../callbacks/families/family.ts';
import { tableOf } from '../store/columns.ts';
import { faultOf, hasState, isOwnKey } from '../store/errors.ts';
import { inTransaction, prepared } from '../store/pools.ts';
import {
  type MergeCounts,
  mergeLock,
  mergeStatements,
  planSettings,
} from '../store/statements/merge-records.ts';

/** Together the times keep other deliveries waiting for less than 30 s, whatever happens to these. */
export const mergeLimits = {
  /** Deliveries of one merge. */
  maxDeliveries: 500,
  /** The time after which a merge that failed is not split further; what is left waits. */
  runMs: 10_000,
  /** The time limit of a merge of `maxDeliveries`, or of one record; others have a part of it, a fifth at least. */
  statementMs: 5_000,
  /** The longest wait for others that merge. */
  mergeLockMs: 10_000,
  /** The longest wait for a new row that another session inserts; rows that exist are not waited for. */
  lockMs: 1_000,
  /** A merge that takes longer is followed by smaller ones, and its large records are merged alone, after pauses. */
  slowMs: 500,
  /** The time after which PostgreSQL ends the session of a process that is frozen in the middle. */
  idleMs: 5_000,
};
export type MergeLimits = typeof mergeLimits;

/** After which the driver gives up: the server's time-outs come first. */
export const driverMs = ({ mergeLockMs, statementMs }: MergeLimits): number => mergeLockMs + statementMs;

interface Statement {
  family: Family;
  mode: 'due' | 'records';
  /** The number of deliveries, or of records. */
  size: number;
  values: unknown[];
}

/**
 * One merge: the lock, the statement, its counts.
 *
 * @throws MergeLockTaken, TableLocked, or the database's error: see `faultInMerge`; then nothing was changed
 */
export async function mergeOnce(
  pool: pg.Pool,
  limits: MergeLimits,
  { family, mode, size, values }: Statement,
): Promise<MergeCounts> {
  const share = size === 1 ? 1 : Math.min(1, Math.max(size / limits.maxDeliveries, 0.2));
  const first = `${mergeLock(limits)}; ${planSettings}; set local lock_timeout = ${limits.lockMs};
    set local statement_timeout = ${Math.ceil(limits.statementMs * share)}; lock table ${tableOf(family)} in row exclusive mode nowait`;
  const query = { text: mergeStatements(family)[mode], values, query_timeout: driverMs(limits) };
  let isLocked = false;
  const run = async (client: pg.PoolClient) => {
    isLocked = true;
    const { rows } = await client.query<MergeCounts>(prepared(pool, query));
    return rows[0]!;
  };
  try {
    return await inTransaction(pool, first, run, driverMs(limits));
  } catch (error) {
    if (!isLocked && hasState(error, 'queryCanceled')) throw new MergeLockTaken();
    // No record of the table is at fault.
    if (!isLocked && hasState(error, 'lockNotAvailable')) throw new TableLocked(family.table);
    throw error;
  }
}

class MergeLockTaken extends Error {}

/** Another session locks the whole table. */
export class TableLocked extends Error {
  constructor(table: string) {
    super(`the table ${table} is locked by another session`);
  }
}

/**
 * `busy`: others merge; `family`: a statement, a right or the state of a table is at fault; `refusal`, `slow` and `record`:
 * perhaps one of the records, as where a foreign trigger raises an error.
 */
export function faultInMerge(error: unknown): 'busy' | 'outage' | 'family' | 'refusal' | 'slow' | 'record' {
  if (error instanceof MergeLockTaken) return 'busy';
  if (error instanceof TableLocked || isOwnKey(error)) return 'family';
  // The driver's, or our own: no record is at fault.
  if (!(error instanceof pg.DatabaseError)) return 'outage';
  const { code = '' } = error;
  if (hasState(error, 'queryCanceled', 'lockNotAvailable', 'deadlock')) return 'slow';
  if (/^(42|55)/.test(code)) return 'family';
  const fault = faultOf(error);
  if (fault === 'other') return 'record';
  // The other time-outs have ended the session.
  return fault === 'timeout' ? 'outage' : fault;
}
