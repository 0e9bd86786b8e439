import type pg from 'pg';
import { keysOf } from '../../callbacks/delivery.ts';
import type { Family } from '../../callbacks/families/family.ts';
import type { Log } from '../../common/log.ts';
import { describeError, hasState, isDamaged } from '../store/errors.ts';
import { fingerprintOf } from '../store/migrate.ts';
import { inTransaction } from '../store/pools.ts';
import { type MergeCounts, type MergeTotals, mergeLock } from '../store/statements/merge-records.ts';
import {
  growingPause,
  putOff,
  recordsOfDue,
  requestedRecords,
  waitingRecords,
} from '../store/statements/pending.ts';
import {
  driverMs,
  faultInMerge,
  type MergeLimits,
  mergeLimits,
  mergeOnce,
  TableLocked,
} from './merge-once.ts';
import { createSlowRecords, type SlowRecords } from './slow-records.ts';

/** A record of the family that is merged. */
interface RecordOfFamily {
  businessId: string;
  recordId: string;
}

export interface MergeRequest {
  /** Deliveries that are merged together with whatever else of the family is due, `maxDeliveries` at most. */
  ids?: readonly string[];
  /** Merges these records and nothing else, also those that wait for nothing; a row without callbacks is deleted. */
  records?: readonly RecordOfFamily[];
  /** Default: true; `false`: only of records with callbacks that waited. Those whose ids may identify a patient never are. */
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
 * Merges what is due of a family, up to 500 deliveries, or the records of the request. What cannot be merged waits or has
 * failed, with the reason in `pending_deliveries`, and nothing else waits for it.
 *
 * @throws the database's error, if it is an outage: everything waits as it did
 */
export type Merge = (family: string, request?: MergeRequest) => Promise<MergeResult>;

export interface MergeOptions {
  pool: pg.Pool;
  families: readonly Family[];
  log: Log;
  limits?: Partial<MergeLimits>;
}

/** A record with its deliveries that waited before it was tried. */
interface WaitingRecord extends RecordOfFamily {
  ids: string[];
}

/** A call of the merge. */
interface MergeCall {
  pool: pg.Pool;
  log: Log;
  fingerprint: string;
  limits: MergeLimits;
  /** Deliveries of a merge, by family: fewer where larger merges were too slow, so that each one gets further. */
  sizes: Map<string, number>;
  slowRecords: SlowRecords;
  family: Family;
  recordsChanges: boolean;
  /** By `performance.now()`. */
  endsAt: number;
  result: MergeResult;
}

/** Into how many parts a merge is split that has failed. */
const parts = 8;
const lockedRow = 'its row is locked by another session';
const failed = "'infinity'";
const pauseOfRecord = growingPause(60);
const pauseOfFamily = growingPause(10);

/**
 * Creates the function that makes rows of callbacks: it reads all callbacks of records, writes the rows that differ, and
 * deletes the pending rows of what it has read, in one statement under a lock that only one merge has at a time.
 */
export function createMerge({ pool, families, log, limits: some }: MergeOptions): Merge {
  const limits = { ...mergeLimits, ...some };
  const fingerprint = fingerprintOf(families);
  const byName = new Map(families.map((family) => [family.name, family]));
  const sizes = new Map<string, number>();
  const slowRecords = createSlowRecords(limits.slowMs);
  return async (name, { ids = [], records, recordsChanges = true } = {}) => {
    const family = byName.get(name);
    if (!family) throw new Error(`There is no family ${name}.`);
    const counts = { merged: 0, written: 0, deleted: 0, waiting: 0, failed: 0 };
    const result: MergeResult = { outcome: 'done', ...counts, isFull: false, left: [] };
    const endsAt = performance.now() + limits.runMs;
    const shared = { pool, log, fingerprint, limits, sizes, slowRecords };
    const call = { ...shared, family, recordsChanges, endsAt, result };
    await (records ? mergeRecords(call, records) : mergeDue(call, ids));
    return result;
  };
}

async function mergeDue(call: MergeCall, ids: readonly string[]): Promise<void> {
  const { family, sizes, limits, slowRecords, result } = call;
  const size = sizes.get(family.name) ?? limits.maxDeliveries;
  const named = ids.slice(0, size);
  await mergeSlowRecord(call);
  if (result.outcome !== 'done') return;
  const due = [named, size - named.length, ...keysOf(slowRecords.of(family.name))];
  try {
    const { isFull, large, ms } = await attempt(call, 'due', size, due);
    result.isFull = isFull || ids.length > size;
    const isSlow = ms > limits.slowMs;
    sizes.set(family.name, isSlow ? Math.ceil(size / 2) : Math.min(size * 2, limits.maxDeliveries));
    if (isSlow)
      for (const [businessId, recordId] of large)
        slowRecords.noteTime({ family: family.name, businessId, recordId }, ms);
  } catch (error) {
    if (faultInMerge(error) === 'slow') sizes.set(family.name, Math.ceil(size / parts));
    result.isFull = true;
    if (isDamaged(error)) await mergeReadable(call, size, error);
    else await split(call, error, () => readWaiting(call, recordsOfDue(family), due));
  }
}

async function mergeRecords(call: MergeCall, records: readonly RecordOfFamily[]): Promise<void> {
  const { limits, result } = call;
  for (let i = 0; i < records.length && result.outcome === 'done'; i += limits.maxDeliveries) {
    const step = records.slice(i, i + limits.maxDeliveries);
    call.endsAt = performance.now() + limits.runMs;
    await attemptRecords(call, step).catch((error) =>
      split(call, error, () => readWaiting(call, requestedRecords, keysOf(step))),
    );
  }
}

/** Merges the next slow record whose pause is over, alone. */
async function mergeSlowRecord(call: MergeCall): Promise<void> {
  const record = call.slowRecords.takeDue(call.family.name);
  if (!record) return;
  const [waiting] = await readWaiting(call, requestedRecords, keysOf([record]));
  if (waiting && waiting.ids.length > 0) await mergeWaiting(call, [waiting]);
  else call.slowRecords.noteTime(record, 0);
}

/** Merges records that are due, by what of them can be read. */
async function mergeReadable(call: MergeCall, size: number, error: unknown): Promise<void> {
  const { pool, family, limits, result } = call;
  const text = `select business_id as "businessId", record_id as "recordId", array_agg(id) as ids
    from receiver.readable_deliveries($1, $2) group by 1, 2`;
  const query = { text, values: [family.name, size], query_timeout: driverMs(limits) };
  await mergeWaiting(call, (await pool.query<WaitingRecord>(query)).rows);
  Object.assign(result, { outcome: 'broken', reason: describeError(error) });
}

async function mergeWaiting(call: MergeCall, records: WaitingRecord[]): Promise<void> {
  const { result, endsAt } = call;
  if (result.outcome !== 'done') return;
  if (performance.now() > endsAt) {
    result.isFull = true;
    return leave(call, records, 'the merge had no time left');
  }
  try {
    await attemptRecords(call, records);
  } catch (error) {
    if (records.length > 1) await split(call, error, async () => records);
    else await blame(call, error, records);
  }
}

/** A merge has failed: its parts are merged, down to the record at fault. @throws the error, if it is an outage */
async function split(call: MergeCall, error: unknown, read: () => Promise<WaitingRecord[]>): Promise<void> {
  const fault = faultInMerge(error);
  if (fault === 'outage' || fault === 'busy') return blame(call, error, []);
  const records = await read();
  if (fault === 'family') return blame(call, error, records);
  // A single one is tried again: what came since the failure is not to blame.
  const size = Math.ceil(records.length / parts);
  for (let i = 0; i < records.length; i += size) await mergeWaiting(call, records.slice(i, i + size));
}

/** Puts off records that could not be merged, with the reason. @throws the error, if it is an outage */
async function blame(call: MergeCall, error: unknown, records: WaitingRecord[]): Promise<void> {
  const { family, result, limits, slowRecords } = call;
  const fault = faultInMerge(error);
  const reason = error instanceof TableLocked ? error.message : describeError(error);
  if (fault === 'outage') throw error;
  if (fault === 'busy') {
    result.outcome = 'busy';
  } else if (fault === 'family') {
    Object.assign(result, { outcome: 'broken', reason });
    await putOffRecords(call, records, reason, pauseOfFamily);
  } else {
    if (hasState(error, 'queryCanceled'))
      for (const record of records)
        slowRecords.noteTime({ ...record, family: family.name }, 2 * limits.slowMs);
    await putOffRecords(call, records, reason, fault === 'refusal' ? failed : pauseOfRecord);
  }
}

/** @throws see `mergeOnce` */
async function attempt(
  { pool, limits, family, fingerprint, recordsChanges, result }: MergeCall,
  mode: 'due' | 'records',
  size: number,
  values: unknown[],
): Promise<MergeCounts> {
  const statement = { family, mode, size, values: [fingerprint, recordsChanges, ...values] };
  const counts = await mergeOnce(pool, limits, statement);
  for (const count of ['merged', 'written', 'deleted', 'waiting'] as const) result[count] += counts[count];
  if (!counts.isCurrent) result.outcome = 'foreign';
  return counts;
}

async function attemptRecords(call: MergeCall, records: readonly RecordOfFamily[]): Promise<void> {
  const { family, slowRecords } = call;
  const { locked, ms } = await attempt(call, 'records', records.length, keysOf(records));
  if (records.length === 1) slowRecords.noteTime({ ...records[0]!, family: family.name }, ms);
  const left = locked.map((place) => records[place - 1]!);
  leave(call, left, lockedRow);
}

function leave({ result }: MergeCall, records: readonly RecordOfFamily[], reason: string): void {
  for (const { businessId, recordId } of records) result.left.push({ businessId, recordId, reason });
}

/** Deliveries that were tried wait until `nextAt`, or have failed. */
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

/** @returns the records with what of them waits */
async function readWaiting(
  { pool, limits, family }: MergeCall,
  records: string,
  values: unknown[],
): Promise<WaitingRecord[]> {
  const text = waitingRecords(records);
  const query = { text, values: [family.name, ...values], query_timeout: driverMs(limits) };
  return (await pool.query<WaitingRecord>(query)).rows;
}
