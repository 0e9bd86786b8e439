import pg from 'pg';
import type { Family } from '../../callbacks/families/family.ts';
import type { Log } from '../../common/log.ts';
import { tableOf } from '../store/columns.ts';
import { describeError, faultOf, hasState, OtherFamilies } from '../store/errors.ts';
import { fingerprintOf } from '../store/migrate.ts';
import { inTransaction, prepared } from '../store/pools.ts';
import {
  keysOf,
  type MergeCounts,
  type MergeLimits,
  type MergeTotals,
  mergeLimits,
  mergeLock,
  mergeStatements,
  planSettings,
} from '../store/statements/merge-records.ts';
import { growingPause, putOff, waitingOfDue, waitingOfRecords } from '../store/statements/pending.ts';

interface RecordOfFamily {
  businessId: string;
  recordId: string;
}

interface MergeRequest {
  /** Nothing else is merged; a row without callbacks is deleted. */
  records?: readonly RecordOfFamily[];
  /** Default: true; `false`: only of records with callbacks that waited. Never where ids may identify a patient. */
  recordsChanges?: boolean;
}

export interface MergeResult extends MergeTotals {
  /**
   * `foreign`: the tables are made for other families; `busy`: others merge; `broken`: nothing of the family can be merged,
   * see `reason`. What was not merged waits.
   */
  outcome: 'done' | 'foreign' | 'busy' | 'broken';
  reason?: string;
  failed: number;
  /** Records that were tried and not merged, with the reason; of those with locked rows, only the requested ones. */
  left: (RecordOfFamily & { reason: string })[];
}

/**
 * Merges what is due of a family, or the records of the request. What cannot be merged waits or has failed, with the reason in
 * `pending_deliveries`, and nothing else waits for it.
 *
 * @throws the database's error, if it is an outage: everything waits as it did
 */
export type Merge = (family: string, request?: MergeRequest) => Promise<MergeResult>;

interface WaitingRecord extends RecordOfFamily {
  /** Its deliveries that waited before it was tried. */
  ids: string[];
}

interface MergeFault {
  /**
   * `busy`: others merge; `foreign`: the tables are made for other families; `family`: a statement, a right or the state of a
   * table is at fault. All others: perhaps one of the records, as where a foreign trigger raises an error.
   */
  fault: 'busy' | 'foreign' | 'family' | 'refusal' | 'record';
  reason: string;
}

interface MergeCall {
  pool: pg.Pool;
  log: Log;
  limits: MergeLimits;
  fingerprint: string;
  family: Family;
  recordsChanges: boolean;
  /** By `performance.now()`. */
  endsAt: number;
  result: MergeResult;
}

/** The driver's limit: the server's time-outs come first. */
const driverMs = ({ mergeLockMs, statementMs }: MergeLimits): number => mergeLockMs + statementMs;

/** A merge that has failed is split into so many. */
const parts = 8;

interface MergeOptions {
  pool: pg.Pool;
  families: readonly Family[];
  log: Log;
  limits?: Partial<MergeLimits>;
}

/**
 * Makes rows of callbacks: it reads all callbacks of records, writes the rows that differ, and deletes the pending rows of what
 * it has read, in one statement under a lock that only one merge has at a time.
 */
export function createMerge({ pool, families, log, limits: changed }: MergeOptions): Merge {
  const limits = { ...mergeLimits, ...changed };
  const fingerprint = fingerprintOf(families);
  const byName = new Map(families.map((family) => [family.name, family]));
  const shared = { pool, log, fingerprint, limits };
  return async (name, { records, recordsChanges = true } = {}) => {
    const family = byName.get(name);
    if (!family) throw new Error(`There is no family ${name}.`);
    const counts = { merged: 0, written: 0, deleted: 0, waiting: 0, failed: 0 };
    const result: MergeResult = { outcome: 'done', ...counts, isFull: false, left: [] };
    const endsAt = performance.now() + limits.runMs;
    const call = { ...shared, family, recordsChanges, endsAt, result };
    await (records ? mergeRecords(call, records) : mergeDue(call));
    return result;
  };
}

async function mergeDue(call: MergeCall): Promise<void> {
  const { family, limits, result } = call;
  const size = limits.maxDeliveries;
  const attempt = await mergeOnce(call, 'due', size, [size]);
  if (isFault(attempt)) {
    result.isFull = attempt.fault !== 'foreign';
    return split(call, attempt, () => read(call, waitingOfDue(family), [size]));
  }
  result.isFull = attempt.isFull;
}

async function mergeRecords(call: MergeCall, records: readonly RecordOfFamily[]): Promise<void> {
  const { limits, result } = call;
  for (let i = 0; i < records.length && result.outcome === 'done'; i += limits.maxDeliveries) {
    const step = records.slice(i, i + limits.maxDeliveries);
    call.endsAt = performance.now() + limits.runMs;
    const fault = await tryRecords(call, step);
    if (fault) await split(call, fault, () => read(call, waitingOfRecords, keysOf(step)));
  }
}

async function mergeWaiting(call: MergeCall, records: WaitingRecord[]): Promise<void> {
  const { result, endsAt } = call;
  if (result.outcome !== 'done') return;
  if (performance.now() > endsAt) {
    result.isFull = true;
    return leave(call, records, 'the merge had no time left');
  }
  const fault = await tryRecords(call, records);
  if (!fault) return;
  if (records.length > 1) await split(call, fault, async () => records);
  else await blame(call, fault, records);
}

/** A merge has failed: its parts are merged, down to the record at fault. */
async function split(
  call: MergeCall,
  fault: MergeFault,
  waiting: () => Promise<WaitingRecord[]>,
): Promise<void> {
  if (fault.fault === 'busy' || fault.fault === 'foreign') return blame(call, fault, []);
  const records = await waiting();
  if (fault.fault === 'family') return blame(call, fault, records);
  // A single one is tried again: what came since the failure is not to blame.
  const size = Math.ceil(records.length / parts);
  for (let i = 0; i < records.length; i += size) await mergeWaiting(call, records.slice(i, i + size));
}

const isFault = (attempt: MergeCounts | MergeFault): attempt is MergeFault => 'fault' in attempt;

async function tryRecords(
  call: MergeCall,
  records: readonly RecordOfFamily[],
): Promise<MergeFault | undefined> {
  const attempt = await mergeOnce(call, 'records', records.length, keysOf(records));
  if (isFault(attempt)) return attempt;
  const locked = attempt.locked.map((place) => records[place - 1]!);
  leave(call, locked, 'its row is locked by another session');
  return undefined;
}

function leave({ result }: MergeCall, records: readonly RecordOfFamily[], reason: string): void {
  for (const { businessId, recordId } of records) result.left.push({ businessId, recordId, reason });
}

/** Puts off what waits of these records, by the fault of all of them. */
async function blame(call: MergeCall, { fault, reason }: MergeFault, records: WaitingRecord[]) {
  const { pool, log, limits, family, result } = call;
  if (fault === 'busy' || fault === 'foreign') {
    result.outcome = fault;
    return;
  }
  if (fault === 'family') Object.assign(result, { outcome: 'broken', reason });
  const ids = records.flatMap((record) => record.ids);
  leave(call, records, reason);
  if (ids.length === 0) return;
  const nextAt = { family: growingPause(10), refusal: "'infinity'", record: growingPause(60) }[fault];
  const query = { text: putOff(nextAt), values: [ids, reason], query_timeout: driverMs(limits) };
  // Under the lock: two sessions that update many of these rows could wait for each other.
  const update = (client: pg.PoolClient) => client.query(query);
  const { rowCount } = await inTransaction(pool, mergeLock(limits), update, driverMs(limits));
  result[fault === 'refusal' ? 'failed' : 'waiting'] += rowCount!;
  const about = { family: family.name, deliveries: rowCount, delivery: ids[0], reason };
  log.warn(about, 'deliveries could not be merged');
}

async function read(call: MergeCall, text: string, values: unknown[]): Promise<WaitingRecord[]> {
  const { pool, limits, family } = call;
  const query = { text, values: [family.name, ...values], query_timeout: driverMs(limits) };
  return (await pool.query<WaitingRecord>(query)).rows;
}

/** @param size the number of deliveries, or of records @throws the error of an outage; then nothing was changed, either */
async function mergeOnce(
  { pool, limits, fingerprint, family, recordsChanges, result }: MergeCall,
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

/** @throws the error where no record is at fault: an outage, the driver's, or our own */
function faultInMerge(error: unknown): MergeFault['fault'] {
  const fault = faultOf(error);
  if (!(error instanceof pg.DatabaseError) || fault === 'outage') throw error;
  const { code = '' } = error;
  // The session has ended.
  if (code.startsWith('25')) throw error;
  if (fault === 'refusal') return fault;
  // A pooler has lost the statement: the next attempt has no name.
  if (fault === 'timeout' || hasState(error, 'duplicatePreparedStatement')) return 'record';
  return /^(42|55)/.test(code) ? 'family' : 'record';
}
