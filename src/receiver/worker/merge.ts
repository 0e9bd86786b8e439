import pg from 'pg';
import { keysOf, type RecordKey } from '../../callbacks/delivery.ts';
import type { Family } from '../../callbacks/families/family.ts';
import type { Log } from '../../common/log.ts';
import { tableOf } from '../store/columns.ts';
import { describeError, faultOf, isDamaged, isOwnKey } from '../store/errors.ts';
import { fingerprintOf } from '../store/migrate.ts';
import { inTransaction } from '../store/pools.ts';
import { queryPrepared } from '../store/prepared.ts';
import {
  dueDeliveries,
  growingPause,
  type Merged,
  mergeLock,
  mergeStatements,
  planSettings,
} from './merge-statement.ts';

/** A record of the family that is merged. */
type OwnKey = Omit<RecordKey, 'family'>;

/** Together the times keep other deliveries waiting for less than 30 s, whatever happens to these. */
const defaultLimits = {
  /** Deliveries of one merge. */
  maxDeliveries: 500,
  /** The time after which a merge that failed is not split further; what is left waits. */
  runMs: 10_000,
  /** The time limit of a merge of `maxDeliveries`, or of one record; others have a part of it, a fifth at least. */
  statementMs: 5_000,
  /** The longest wait for others that merge. */
  mergeLockMs: 10_000,
  /** The longest wait for a new row that somebody else inserts; rows that exist are not waited for. */
  lockMs: 1_000,
  /** A merge that takes longer is followed by smaller ones, and its large records are merged alone, after pauses. */
  slowMs: 500,
  /** The time after which PostgreSQL ends the session of a process that is frozen in the middle. */
  idleMs: 5_000,
};

export interface MergeOptions {
  pool: pg.Pool;
  families: readonly Family[];
  log: Log;
  limits?: Partial<typeof defaultLimits>;
}

export interface MergeRequest {
  /** Deliveries that are merged together with whatever else of the family is due, `maxDeliveries` at most. */
  ids?: readonly string[];
  /** Merges these records and nothing else, also those that wait for nothing; a row without callbacks is deleted. */
  records?: readonly OwnKey[];
  /** Default: true; `false`: only of records with callbacks that waited. Those whose ids may identify a patient are never told. */
  recordsChanges?: boolean;
}

export interface MergeResult extends Omit<Merged, 'locked' | 'large' | 'ms' | 'isOurs'> {
  /**
   * `foreign`: the tables are made for other families; `busy`: others merge; `broken`: nothing of the family can be merged,
   * see `reason`. What was not merged waits.
   */
  outcome: 'done' | 'foreign' | 'busy' | 'broken';
  reason?: string;
  /** Deliveries whose data PostgreSQL refused. */
  failed: number;
  /** Records that were tried and not merged, with the reason; of those with locked rows, only the ones that were given. */
  left: (OwnKey & { reason: string })[];
}

export type Merge = ReturnType<typeof createMerge>;

/** A record with its deliveries that waited before it was tried. */
interface Candidate extends OwnKey {
  ids: string[];
}

/** A record whose merges take long; `dueAt` by `performance.now()`. */
type SlowRecord = RecordKey & { pauseMs: number; dueAt: number };

interface Run {
  family: Family;
  recordsChanges: boolean;
  endsAt: number;
  result: MergeResult;
}

/** The pause of a slow record, in durations of its merge: others wait while it is merged. */
const slowPauses = { factor: 10, maxMs: 60_000 };
/** Into how many parts a merge is split that has failed. */
const parts = 8;
/** The longest pauses of one record, and of a family that is broken, in seconds. */
const maxPause = { record: 60, family: 10 };
const lockedRow = 'its row is locked by another session';

/**
 * Creates the function that makes rows of callbacks: it reads all callbacks of records, writes the rows that differ, and
 * deletes the pending rows of what it has read, in one statement under a lock that only one merge has at a time.
 */
export function createMerge({ pool, families, log, limits: given }: MergeOptions) {
  const fingerprint = fingerprintOf(families);
  const limits = { ...defaultLimits, ...given };
  const byName = new Map(families.map((family) => [family.name, family]));
  /** Smaller where larger merges were too slow, so that each one gets further. */
  const sizes = new Map<string, number>();
  const slowRecords = new Map<string, SlowRecord>();
  /** The server's time-outs come first. */
  const driverMs = limits.mergeLockMs + limits.statementMs;
  const lock = mergeLock(limits);

  const statementMs = (size: number) =>
    size === 1
      ? limits.statementMs
      : Math.ceil(limits.statementMs * Math.min(1, Math.max(size / limits.maxDeliveries, 0.2)));

  /** @param size the number of deliveries, or of records */
  const withLock = async <T>(
    family: Family,
    size: number,
    run: (client: pg.PoolClient) => Promise<T>,
  ): Promise<T> => {
    let isLocked = false;
    const first = `${lock}; ${planSettings}; set local lock_timeout = ${limits.lockMs};
      set local statement_timeout = ${statementMs(size)}; lock table ${tableOf(family)} in row exclusive mode nowait`;
    const locked = (client: pg.PoolClient) => {
      isLocked = true;
      return run(client);
    };
    try {
      return await inTransaction(pool, first, locked, driverMs);
    } catch (error) {
      if (!isLocked && hasCode(error, queryCanceled)) throw new Busy();
      // Where somebody locks the whole table, no record of it is at fault.
      if (!isLocked && hasCode(error, lockNotAvailable)) throw new TableLocked(family.table);
      throw error;
    }
  };

  /** @param ms how long a merge took in which others waited for this record */
  const noteTime = ({ name: family }: Family, { businessId, recordId }: OwnKey, ms: number) => {
    const key = slowKey({ family, businessId, recordId });
    const lastMs = slowRecords.get(key)?.pauseMs ?? 0;
    slowRecords.delete(key);
    if (ms <= limits.slowMs) return;
    const pauseMs = Math.min(Math.max(slowPauses.factor * ms, 2 * lastMs), slowPauses.maxMs);
    slowRecords.set(key, { family, businessId, recordId, pauseMs, dueAt: performance.now() + pauseMs });
  };

  /** One merge. @throws Busy; TableLocked; the database's error */
  const attempt = async (
    run: Run,
    statement: 'due' | 'records',
    size: number,
    values: unknown[],
  ): Promise<Merged> => {
    const { family, recordsChanges, result } = run;
    const query = {
      text: mergeStatements(family)[statement],
      values: [fingerprint, recordsChanges, ...values],
      query_timeout: driverMs,
    };
    const execute = (one: pg.QueryConfig) => withLock(family, size, (client) => client.query<Merged>(one));
    const [merged] = await queryPrepared<Merged>(pool, query, execute);
    for (const count of ['merged', 'written', 'deleted', 'waiting'] as const) result[count] += merged![count];
    if (!merged!.isOurs) result.outcome = 'foreign';
    return merged!;
  };

  const attemptRecords = async (run: Run, records: readonly OwnKey[]) => {
    const { locked, ms } = await attempt(run, 'records', records.length, keysOf(records));
    if (records.length === 1) noteTime(run.family, records[0]!, ms);
    const left = locked.map((place) => records[place - 1]!);
    leave(run, left, lockedRow);
  };

  const leave = ({ result }: Run, records: readonly OwnKey[], reason: string) => {
    for (const { businessId, recordId } of records) result.left.push({ businessId, recordId, reason });
  };

  /** Deliveries that were tried wait for a while, or until somebody changes something. */
  const putOff = async (run: Run, candidates: Candidate[], reason: string, next: string) => {
    const { family, result } = run;
    // In the order of ids, as all who lock several.
    const text = `update receiver.pending_deliveries set attempts = attempts + 1, next_at = ${next}, error = $2
      where id in (select id from receiver.pending_deliveries where id = any($1::uuid[]) order by id for update)
        and next_at < 'infinity'`;
    const ids = candidates.flatMap((one) => one.ids);
    leave(run, candidates, reason);
    if (ids.length === 0) return;
    // Under the lock: two sessions that update many of these rows could wait for each other.
    const update = (client: pg.PoolClient) =>
      client.query({ text, values: [ids, reason], query_timeout: driverMs });
    const { rowCount } = await inTransaction(pool, lock, update, driverMs);
    result[next === never ? 'failed' : 'waiting'] += rowCount!;
    log.warn(
      { family: family.name, deliveries: rowCount, delivery: ids[0], reason },
      'deliveries could not be merged',
    );
  };

  /** Deals with the error of a merge of candidates. @throws the error, if it is an outage */
  const handle = async (run: Run, candidates: Candidate[], error: unknown): Promise<void> => {
    const { result } = run;
    const fault = faultInMerge(error);
    const reason = error instanceof TableLocked ? error.message : describeError(error);
    if (fault === 'outage') throw error;
    if (fault === 'busy') result.outcome = 'busy';
    else if (fault === 'family') {
      Object.assign(result, { outcome: 'broken', reason });
      await putOff(run, candidates, reason, growingPause(maxPause.family));
    } else if (candidates.length === 1) {
      if (hasCode(error, queryCanceled)) noteTime(run.family, candidates[0]!, 2 * limits.slowMs);
      await putOff(run, candidates, reason, fault === 'refusal' ? never : growingPause(maxPause.record));
    } else {
      const size = Math.ceil(candidates.length / parts);
      for (let i = 0; i < candidates.length; i += size)
        await mergeCandidates(run, candidates.slice(i, i + size));
    }
  };

  const mergeCandidates = async (run: Run, candidates: Candidate[]): Promise<void> => {
    const { result, endsAt } = run;
    if (result.outcome !== 'done') return;
    if (performance.now() > endsAt) {
      result.isFull = true;
      return leave(run, candidates, 'the merge had no time left');
    }
    try {
      await attemptRecords(run, candidates);
    } catch (error) {
      await handle(run, candidates, error);
    }
  };

  /** @returns records with what of them waits. A later merge reads it all, so its error is theirs. */
  const candidatesOf = async ({ name }: Family, records: string, values: unknown[]): Promise<Candidate[]> => {
    const { rows } = await pool.query<Candidate>({
      text: `${records}, withheld as (
          select w.* from receiver.pending_deliveries join receiver.withheld w using (id) where w.family = $1
        )
        select k.business_id as "businessId", k.record_id as "recordId",
               coalesce(array_agg(p.id) filter (where p.id is not null), '{}') as ids
        from records k
        left join lateral (
          select id from receiver.inbox where (business_id, family, record_id) = (k.business_id, $1, k.record_id)
          union all
          select id from withheld w where (w.business_id, w.record_id) = (k.business_id, k.record_id)
        ) i on true
        left join receiver.pending_deliveries p on p.id = i.id and p.next_at < 'infinity'
        group by k.business_id, k.record_id order by min(p.next_at)`,
      values: [name, ...values],
      query_timeout: driverMs,
    });
    return rows;
  };

  /** Records that are due, by what of them can be read. */
  const readableCandidates = async ({ name }: Family, size: number) => {
    const text = `select business_id as "businessId", record_id as "recordId", array_agg(id) as ids
      from receiver.readable_deliveries($1, $2) group by 1, 2`;
    return (await pool.query<Candidate>({ text, values: [name, size], query_timeout: driverMs })).rows;
  };

  /** A merge of several records has failed: finds those at fault. */
  const retry = async (run: Run, error: unknown, records: string, values: unknown[]): Promise<void> => {
    const fault = faultInMerge(error);
    if (fault === 'outage') throw error;
    if (fault === 'busy') {
      run.result.outcome = 'busy';
      return;
    }
    const candidates = await candidatesOf(run.family, records, values);
    // A single one is tried again: what came since the failure is not to blame.
    if (candidates.length === 1 && fault !== 'family') await mergeCandidates(run, candidates);
    else await handle(run, candidates, error);
  };

  /** Merges the next slow record whose pause is over, alone. @returns those whose pause is not */
  const mergeSlow = async (run: Run): Promise<SlowRecord[]> => {
    const slow = () => [...slowRecords.values()].filter(({ family }) => family === run.family.name);
    const next = slow().find(({ dueAt }) => dueAt <= performance.now());
    if (next) {
      // At the end before it is tried: one that fails keeps none of the others out.
      const key = slowKey(next);
      slowRecords.delete(key);
      slowRecords.set(key, { ...next, dueAt: performance.now() + next.pauseMs });
      const [candidate] = await candidatesOf(run.family, givenRecords, keysOf([next]));
      if (candidate!.ids.length > 0) await mergeCandidates(run, [candidate!]);
      else noteTime(run.family, next, 0);
    }
    return slow();
  };

  const mergeRecords = async (run: Run, records: readonly OwnKey[]) => {
    for (let i = 0; i < records.length && run.result.outcome === 'done'; i += limits.maxDeliveries) {
      const some = records.slice(i, i + limits.maxDeliveries);
      run.endsAt = performance.now() + limits.runMs;
      await attemptRecords(run, some).catch((error) => retry(run, error, givenRecords, keysOf(some)));
    }
  };

  const mergeDue = async (run: Run, ids: readonly string[]) => {
    const { family } = run;
    const size = sizes.get(family.name) ?? limits.maxDeliveries;
    const some = ids.slice(0, size);
    const slow = await mergeSlow(run);
    if (run.result.outcome !== 'done') return;
    const due = [some, size - some.length, ...keysOf(slow)];
    try {
      const { isFull, large, ms } = await attempt(run, 'due', size, due);
      run.result.isFull = isFull || ids.length > size;
      const isSlow = ms > limits.slowMs;
      sizes.set(family.name, isSlow ? Math.ceil(size / 2) : Math.min(size * 2, limits.maxDeliveries));
      if (isSlow) for (const [businessId, recordId] of large) noteTime(family, { businessId, recordId }, ms);
    } catch (error) {
      if (faultInMerge(error) === 'slow') sizes.set(family.name, Math.ceil(size / parts));
      run.result.isFull = true;
      if (isDamaged(error)) {
        await mergeCandidates(run, await readableCandidates(family, size));
        Object.assign(run.result, { outcome: 'broken', reason: describeError(error) });
        return;
      }
      const records = `with ${dueDeliveries(family, '$2', '$3')}, records as (
        (select business_id, record_id from due join receiver.inbox using (id)
         union select business_id, record_id from due join receiver.withheld using (id))
        except select * from unnest($4::text[], $5::text[]))`;
      await retry(run, error, records, due);
    }
  };

  /**
   * Merges what is due of a family, up to 500 deliveries, or the given records. What cannot be merged waits or has failed,
   * with the reason in `pending_deliveries`, and nothing else waits for it.
   *
   * @throws the database's error, if it is an outage: everything waits as it did
   */
  return async (name: string, request: MergeRequest = {}): Promise<MergeResult> => {
    const { ids = [], records, recordsChanges = true } = request;
    const family = byName.get(name);
    if (!family) throw new Error(`There is no family ${name}.`);
    const counts = { merged: 0, written: 0, deleted: 0, waiting: 0, failed: 0 };
    const result: MergeResult = { outcome: 'done', ...counts, isFull: false, left: [] };
    const run: Run = { family, recordsChanges, endsAt: performance.now() + limits.runMs, result };
    await (records ? mergeRecords(run, records) : mergeDue(run, ids));
    return result;
  };
}

const givenRecords =
  'with records as (select * from unnest($2::text[], $3::text[]) as r(business_id, record_id))';
const slowKey = ({ family, businessId, recordId }: RecordKey) =>
  JSON.stringify([family, businessId, recordId]);
const never = "'infinity'";
const queryCanceled = '57014';
const lockNotAvailable = '55P03';
const deadlock = '40P01';

class Busy extends Error {}

class TableLocked extends Error {
  constructor(table: string) {
    super(`the table ${table} is locked by another session`);
  }
}

const hasCode = (error: unknown, ...codes: string[]) =>
  error instanceof pg.DatabaseError && codes.includes(error.code!);

/**
 * `family`: a statement, a right or the state of a table is at fault. `refusal`, `slow` and `record`: perhaps one of the
 * records, as where a trigger of somebody else raises an error.
 */
function faultInMerge(error: unknown): 'busy' | 'outage' | 'family' | 'refusal' | 'slow' | 'record' {
  if (error instanceof Busy) return 'busy';
  if (error instanceof TableLocked || isOwnKey(error)) return 'family';
  // The driver's, or our own: no record is at fault.
  if (!(error instanceof pg.DatabaseError)) return 'outage';
  if (hasCode(error, queryCanceled, lockNotAvailable, deadlock)) return 'slow';
  if (/^(42|55)/.test(error.code!)) return 'family';
  const fault = faultOf(error);
  if (fault === 'other') return 'record';
  // The other time-outs have ended the session.
  return fault === 'timeout' ? 'outage' : fault;
}
