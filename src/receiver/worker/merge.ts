import type pg from 'pg';
import type { Family } from '../../callbacks/families/family.ts';
import type { Log } from '../../common/log.ts';
import { fingerprintOf } from '../store/migrate.ts';
import { inTransaction } from '../store/pools.ts';
import {
  keysOf,
  type MergeCounts,
  type MergeLimits,
  type MergeTotals,
  mergeLimits,
  mergeLock,
} from '../store/statements/merge-records.ts';
import { growingPause, putOff, waitingOfDue, waitingOfRecords } from '../store/statements/pending.ts';
import { driverMs, type MergeContext, type MergeFault, mergeOnce } from './merge-once.ts';

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
  /** Deliveries whose data PostgreSQL refused. */
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

interface MergeCall extends MergeContext {
  log: Log;
  /** By `performance.now()`. */
  endsAt: number;
  result: MergeResult;
}

/** A merge that has failed is split into so many. */
const parts = 8;
const failed = "'infinity'";
const pauseOfRecord = growingPause(60);
const pauseOfFamily = growingPause(10);

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

async function blame(call: MergeCall, failure: MergeFault, records: WaitingRecord[]): Promise<void> {
  const { fault, reason } = failure;
  const { result } = call;
  if (fault === 'busy' || fault === 'foreign') {
    result.outcome = fault;
  } else if (fault === 'family') {
    Object.assign(result, { outcome: 'broken', reason });
    await putOffRecords(call, records, reason, pauseOfFamily);
  } else {
    await putOffRecords(call, records, reason, fault === 'refusal' ? failed : pauseOfRecord);
  }
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

/** @param nextAt SQL */
async function putOffRecords(
  call: MergeCall,
  records: WaitingRecord[],
  reason: string,
  nextAt: string,
): Promise<void> {
  const { pool, log, limits, family, result } = call;
  const ids = records.flatMap((record) => record.ids);
  leave(call, records, reason);
  if (ids.length === 0) return;
  const query = { text: putOff(nextAt), values: [ids, reason], query_timeout: driverMs(limits) };
  // Under the lock: two sessions that update many of these rows could wait for each other.
  const update = (client: pg.PoolClient) => client.query(query);
  const { rowCount } = await inTransaction(pool, mergeLock(limits), update, driverMs(limits));
  result[nextAt === failed ? 'failed' : 'waiting'] += rowCount!;
  const about = { family: family.name, deliveries: rowCount, delivery: ids[0], reason };
  log.warn(about, 'deliveries could not be merged');
}

async function read(call: MergeCall, text: string, values: unknown[]): Promise<WaitingRecord[]> {
  const { pool, limits, family } = call;
  const query = { text, values: [family.name, ...values], query_timeout: driverMs(limits) };
  return (await pool.query<WaitingRecord>(query)).rows;
}
