import { isDeepStrictEqual } from 'node:util';
import type pg from 'pg';
import type { Delivery, RecordKey } from '../../callbacks/delivery.ts';
import { canonicalJson, withDecimals } from '../../callbacks/exact-json.ts';
import { type Family, takesEveryEvent } from '../../callbacks/families/family.ts';
import { createReadCallback } from '../../callbacks/read-callback.ts';
import { isReduced } from '../../callbacks/reduce.ts';
import { Rejection } from '../../callbacks/rejection.ts';
import type { Log } from '../../common/log.ts';
import { applyGate } from '../gate/gate.ts';
import { keyOf, quoted, tableOf } from '../store/columns.ts';
import { faultOf, OtherFamilies } from '../store/errors.ts';
import { gatedOf, incoming, storedColumns, toJsonb } from '../store/insert-deliveries.ts';
import { fingerprintOf } from '../store/migrate.ts';
import { inTransaction } from '../store/pools.ts';
import { keysOf, mergeLock, planSettings } from '../store/statements/merge-records.ts';
import { putBack } from '../store/statements/pending.ts';
import type { Merge, MergeResult } from './merge.ts';

export interface RebuildOptions {
  pool: pg.Pool;
  families: readonly Family[];
  merge: Merge;
  log: Log;
}

interface RebuildCounts {
  callbacks: number;
  /** Something else by the rules before. */
  changed: number;
  /** By the current rules. They stay as they are, and the log names them. */
  unreadable: number;
  rows: number;
  /** Records that could not be merged: a delivery of each waits for the worker. */
  left: number;
}

/** The callback by the current rules; undefined: it is the same. @throws Rejection */
type Identify = (stored: Delivery) => Delivery | undefined;

const maxBytes = 2_000_000;
const statementMs = 2_000;
/** With the wait for others that merge. */
const stepMs = 12_000;
const beginning = { businessId: '', family: '', recordId: '', id: '00000000-0000-0000-0000-000000000000' };

/**
 * Identifies stored callbacks again, by the current families and rules, and merges their records. It writes only what differs;
 * of rows that it corrects, it records only changes by what waited. It runs beside incoming callbacks, in steps, and may be
 * interrupted and run again.
 *
 * @param onProgress is called after each step with the number of callbacks that it has read
 * @param maxCallbacks of a step
 * @throws OtherFamilies; the database's error. What was done until then is complete
 */
export async function rebuildRows(
  options: RebuildOptions,
  onProgress?: (callbacks: number) => void,
  maxCallbacks = 500,
): Promise<RebuildCounts> {
  const { pool, families, log } = options;
  const identify = createIdentify(families);
  const counts = { callbacks: 0, changed: 0, unreadable: 0, rows: 0, left: 0 };
  const mergeAgain = async (records: readonly RecordKey[]) => {
    const { written, left } = await mergeRecords(options, records, false);
    counts.rows += written;
    counts.left += left;
  };
  for (let last = beginning, size = maxCallbacks; ; ) {
    const stored = await readAfter(pool, last, size);
    if (stored.length === 0) break;
    const { ids, unreadable } = findChanged(stored, identify, log);
    try {
      const changed = ids.length > 0 ? await rewrite(options, identify, ids) : [];
      counts.changed += changed.length;
      await mergeAgain([...stored, ...changed]);
    } catch (error) {
      if (faultOf(error) !== 'timeout' || size === 1) throw error;
      // The step was too large, or others have kept the lock for long.
      size = Math.ceil(size / 2);
      continue;
    }
    counts.callbacks += stored.length;
    counts.unreadable += unreadable;
    onProgress?.(stored.length);
    last = stored.at(-1)!;
    size = Math.min(size * 2, maxCallbacks);
  }
  for (const family of families) await mergeAgain(await findOrphans(pool, family));
  return counts;
}

function createIdentify(families: readonly Family[]): Identify {
  const readCallback = createReadCallback(families, true);
  const expected = families.find(takesEveryEvent);
  return (stored) => {
    // An erasure has left too little of it to identify it again.
    if (isReduced(stored)) return undefined;
    const { body, receivedAt, id } = stored;
    const current = { ...readCallback(body, { expected, receivedAt, id }).delivery, body };
    return isDeepStrictEqual(comparable(stored), comparable(current)) ? undefined : current;
  };
}

/** jsonb has its own order of keys, which is that of subjects, and its own notation of numbers. */
const comparable = ({ subjects, data, ...rest }: Delivery) => ({
  ...rest,
  subjects: subjects.toSorted(),
  data: data && canonicalJson(withDecimals(data, JSON.parse(data))),
});

function findChanged(stored: readonly Delivery[], identify: Identify, log: Log) {
  let unreadable = 0;
  const changed = stored.filter((delivery) => {
    try {
      return identify(delivery) !== undefined;
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      unreadable += 1;
      const reason = error.describe();
      log.warn({ delivery: delivery.id, reason }, 'a stored callback cannot be read by the current rules');
      return false;
    }
  });
  return { ids: changed.map(({ id }) => id), unreadable };
}

/** The callbacks of a record together, so that it is merged once; a few megabytes at most, as they are stored. */
function readAfter(pool: pg.Pool, last: typeof beginning, size: number): Promise<Delivery[]> {
  const text = `select ${storedColumns} from (
      select *, row_number() over step as n, sum(pg_column_size(envelope)) over step as bytes from (
        select * from receiver.inbox where (business_id, family, record_id, id) > ($1, $2, $3, $4)
        order by business_id, family, record_id, id limit $5
      ) i window step as (order by business_id, family, record_id, id rows unbounded preceding)
    ) i where n = 1 or bytes < ${maxBytes} order by n`;
  const values = [last.businessId, last.family, last.recordId, last.id, size];
  const read = async (client: pg.ClientBase) => (await client.query<Delivery>(text, values)).rows;
  return inTransaction(pool, planSettings, read);
}

/** Writes what stored deliveries are by other rules. Their pending rows follow. */
const updateDeliveries = `
with ${incoming}, updated as (
  update receiver.inbox i
  set (family, event, client_id, business_id, record_id, version, event_time, subjects, data)
    = (d.family, d.event, d.client_id, d.business_id, d.record_id, d.version, d.event_time, d.subjects, d.data)
  from incoming d where i.id = d.id returning i.id, i.family
)
update receiver.pending_deliveries p set family = u.family from updated u where p.id = u.id and p.family <> u.family`;

/**
 * Writes callbacks by the current rules, and reduces those that thereby turn out to belong to people who were erased.
 *
 * @param gate the lock of the gate's table: as inserts take it, or as the reduction needs it
 * @returns the callbacks that were changed
 */
async function rewrite(
  options: RebuildOptions,
  identify: Identify,
  ids: readonly string[],
  gate: 'row share' | 'exclusive' = 'row share',
): Promise<Delivery[]> {
  const { pool, families } = options;
  const first = `${mergeLock()}; lock table receiver.erased in ${gate} mode;
    set local statement_timeout = ${statementMs}`;
  const step = async (client: pg.PoolClient) => {
    const { rows } = await client.query<Delivery>(
      `select ${storedColumns} from receiver.inbox
       where id = any($1::uuid[]) and receiver.is_current($2)
       order by id for update`,
      [ids, fingerprintOf(families)],
    );
    const changed = rows.flatMap((row) => identify(row) ?? []);
    // Changed since by others, or not for this process to change: the merge says so.
    if (changed.length === 0) return changed;
    const values = [toJsonb(changed.map((delivery) => ({ delivery, copies: 1 })))];
    const gated = await client.query(
      `with ${incoming}, ${gatedOf('incoming')} select from gated limit 1`,
      values,
    );
    const isGated = gated.rows.length > 0;
    if (isGated && gate === 'row share') return undefined;
    await client.query(updateDeliveries, values);
    if (isGated) await applyGate(client, families, [], changed);
    return changed;
  };
  const changed = await inTransaction(pool, first, step, stepMs);
  return changed ?? rewrite(options, identify, ids, 'exclusive');
}

/**
 * Merges records; a delivery of each that could not be merged waits for the worker.
 *
 * @returns the numbers of rows that were written or deleted, of deliveries that waited, and of records that were not merged
 * @throws OtherFamilies
 */
export async function mergeRecords(
  { pool, families, merge, log }: RebuildOptions,
  records: readonly RecordKey[],
  recordsChanges: boolean,
): Promise<{ written: number; waited: number; left: number }> {
  const counts = { written: 0, waited: 0, left: 0 };
  for (const { name } of families) {
    const own = records.filter(({ family }) => family === name);
    if (own.length === 0) continue;
    let result: MergeResult;
    do {
      result = await merge(name, { records: own, recordsChanges });
      counts.written += result.written + result.deleted;
      counts.waited += result.merged;
    } while (result.outcome === 'busy');
    if (result.outcome === 'foreign') throw new OtherFamilies();
    const left = result.outcome === 'broken' ? own : result.left;
    if (left.length === 0) continue;
    counts.left += left.length;
    const reason = result.reason ?? result.left[0]!.reason;
    log.warn({ family: name, records: left.length, reason }, 'records could not be merged, and wait');
    await pool.query(putBack, [name, ...keysOf(left)]);
  }
  return counts;
}

/** Records that have a row and no callbacks: a rebuild, or retention, was interrupted between the two. */
export async function findOrphans(pool: pg.Pool, family: Family): Promise<RecordKey[]> {
  const key = `t.${quoted(keyOf(family).at(-1)!)}::text`;
  const { rows } = await pool.query<RecordKey>(
    `select t.business_id as "businessId", $1::text as family, ${key} as "recordId" from ${tableOf(family)} t
     where not exists (select from receiver.inbox i where (i.business_id, i.family, i.record_id) = (t.business_id, $1, ${key}))`,
    [family.name],
  );
  return rows;
}
