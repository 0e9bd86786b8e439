import pg from 'pg';
import type { Log } from '../../common/log.ts';
import type { Family } from '../families/family.ts';
import { describeError, faultOf } from '../store/errors.ts';
import { inTransaction } from '../store/pools.ts';
import { queryPrepared } from '../store/prepared.ts';
import { dueDeliveries, growingPause, type Merged, mergeStatements } from './merge-statement.ts';

/** A record of a family. */
export interface RecordKey {
  businessId: string;
  recordId: string;
}

export interface MergeLimits {
  /** Deliveries of one merge. */
  maxDeliveries: number;
  /** After which a merge stops halving; what is left waits. In milliseconds, as the following. */
  runMs: number;
  /** Of a merge of `maxDeliveries`; of fewer it is shorter, down to a fifth. */
  statementMs: number;
  /** For which a merge waits for others that merge. */
  mergeLockMs: number;
  /** For which it waits for a new row that somebody else inserts; rows that exist are not waited for. */
  lockMs: number;
}

// Together they keep other deliveries waiting for less than 30 s, whatever happens to these.
const defaultLimits: MergeLimits = {
  ...{ maxDeliveries: 500, runMs: 10_000, statementMs: 5_000, mergeLockMs: 5_000, lockMs: 1_000 },
};

export interface MergeOptions {
  pool: pg.Pool;
  families: readonly Family[];
  /** Of the families, see `fingerprintOf`. */
  fingerprint: string;
  log: Pick<Log, 'warn'>;
  limits?: Partial<MergeLimits>;
}

export interface MergeRequest {
  /** Deliveries that are merged together with whatever else of the family is due. */
  ids?: readonly string[];
  /** Merges these records and nothing else, also those that wait for nothing; a row without callbacks is deleted. */
  records?: readonly RecordKey[];
  /** Default: true. */
  tellsFeed?: boolean;
  /** The kind of the changes; default: by their events. */
  kind?: 'erased';
}

export interface MergeResult extends Omit<Merged, 'locked' | 'isOurs'> {
  /** `foreign`: the tables are made for other families; `busy`: others merge. The rest waits as it did. */
  outcome: 'done' | 'foreign' | 'busy';
  /** Deliveries whose data PostgreSQL refused. */
  failed: number;
  /** Records that were not merged, with the reason. */
  left: (RecordKey & { reason: string })[];
}

export type Merge = ReturnType<typeof createMerge>;

/** A record with its deliveries that waited before it was tried. */
interface Candidate extends RecordKey {
  ids: string[];
}

interface Run {
  family: Family;
  tellsFeed: boolean;
  kind: string | null;
  endsAt: number;
  result: MergeResult;
}

type Statement = 'due' | 'records';

const maxPause = { timeout: "interval '1 minute'", other: "interval '10 seconds'" };

/**
 * Creates the function that makes rows of callbacks: it reads all callbacks of records, writes the rows that differ, and
 * deletes the pending rows of what it has read, in one statement under a lock that only one merge has at a time.
 */
export function createMerge({ pool, families, fingerprint, log, limits: given }: MergeOptions) {
  const limits = { ...defaultLimits, ...given };
  const byName = new Map(families.map((family) => [family.name, family]));
  // Smaller where a larger merge was too slow, so that each one gets further.
  const sizes = new Map<string, number>();
  const sizeOf = ({ name }: Family) => sizes.get(name) ?? limits.maxDeliveries;

  /** @param size the number of deliveries, or of records */
  const firstMessage = (size: number) => {
    const statementMs = Math.ceil(limits.statementMs * Math.max(size / limits.maxDeliveries, 0.2));
    // A frozen client is ended by the time-outs of its idle transaction and of TCP.
    return `
      set local statement_timeout = ${limits.mergeLockMs}; set local lock_timeout = ${limits.mergeLockMs};
      set local idle_in_transaction_session_timeout = ${limits.statementMs}; set local tcp_user_timeout = ${limits.statementMs};
      set local jit = off; set local plan_cache_mode = force_custom_plan;
      lock table receiver.merge_lock in exclusive mode;
      set local lock_timeout = ${limits.lockMs}; set local statement_timeout = ${Math.min(statementMs, limits.statementMs)}`;
  };

  /** One merge. @throws Busy; the database's error */
  const attempt = async (run: Run, statement: Statement, size: number, values: unknown[]) => {
    const { family, tellsFeed, kind, result } = run;
    const query = {
      text: mergeStatements(family)[statement],
      values: [fingerprint, tellsFeed, kind, ...values],
      query_timeout: limits.statementMs + limits.mergeLockMs,
    };
    const execute = async (one: pg.QueryConfig) => {
      let isLocked = false;
      try {
        return await inTransaction(pool, firstMessage(size), async (client) => {
          isLocked = true;
          // Where somebody locks the whole table, no record of it is at fault.
          await client
            .query(`lock table public."${family.table}" in row exclusive mode nowait`)
            .catch((error) => {
              throw isTimeout(error) ? new TableLocked(family.table) : error;
            });
          return client.query<Merged>(one);
        });
      } catch (error) {
        throw !isLocked && isTimeout(error) ? new Busy() : error;
      }
    };
    const unprepared = async () => (await execute(query)).rows;
    const [merged] = await queryPrepared<Merged>(pool, query, unprepared, execute);
    for (const count of ['merged', 'written', 'deleted', 'waiting'] as const) result[count] += merged![count];
    if (!merged!.isOurs) result.outcome = 'foreign';
    const reason = 'its row is locked by another session';
    for (const [businessId, recordId] of merged!.locked) result.left.push({ businessId, recordId, reason });
  };

  const attemptRecords = (run: Run, records: readonly RecordKey[]) =>
    attempt(run, 'records', records.length, columnsOfKeys(records));

  /** Deliveries that were tried and wait for a while, or until somebody changes something. */
  const putOff = async ({ family, result }: Run, candidates: Candidate[], reason: string, next: string) => {
    const { rowCount } = await pool.query(
      `update receiver.pending_deliveries set attempts = attempts + 1, next_at = ${next}, error = $2 where id = any($1::uuid[])`,
      [candidates.flatMap(({ ids }) => ids), reason],
    );
    result[next === failed ? 'failed' : 'waiting'] += rowCount!;
    for (const { businessId, recordId } of candidates) result.left.push({ businessId, recordId, reason });
    log.warn({ family: family.name, deliveries: rowCount, reason }, 'deliveries could not be merged');
  };

  /** Deals with the error of a merge of candidates. @throws the error, if it is an outage */
  const handle = async (run: Run, candidates: Candidate[], error: unknown): Promise<void> => {
    const { family, result, endsAt } = run;
    if (error instanceof Busy) result.outcome = 'busy';
    else if (!(error instanceof pg.DatabaseError || error instanceof TableLocked)) throw error;
    const fault = faultInMerge(error);
    const reason = error instanceof TableLocked ? error.message : describeError(error);
    if (fault === 'outage') throw error;
    if (fault === 'busy') return;
    if (fault === 'other') return putOff(run, candidates, reason, growingPause(maxPause.other));
    if (candidates.length === 1)
      return putOff(run, candidates, reason, fault === 'refusal' ? failed : growingPause(maxPause.timeout));
    if (Date.now() > endsAt) {
      sizes.set(family.name, Math.ceil(candidates.length / 2));
      for (const { businessId, recordId } of candidates) result.left.push({ businessId, recordId, reason });
      return;
    }
    const middle = Math.ceil(candidates.length / 2);
    for (const half of [candidates.slice(0, middle), candidates.slice(middle)])
      await mergeCandidates(run, half);
  };

  const mergeCandidates = async (run: Run, candidates: Candidate[]): Promise<void> => {
    if (run.result.outcome !== 'done') return;
    try {
      await attemptRecords(run, candidates);
    } catch (error) {
      await handle(run, candidates, error);
    }
  };

  /** @returns them with what of them waits. A later merge reads it all, so its error is theirs. */
  const candidatesOf = async (family: Family, records: string, values: unknown[]) => {
    const { rows } = await pool.query<Candidate>(
      `select k.business_id as "businessId", k.record_id as "recordId",
              coalesce(array_agg(p.id) filter (where p.id is not null), '{}') as ids
       from (${records}) k
       left join receiver.inbox i on (i.business_id, i.family, i.record_id) = (k.business_id, $1, k.record_id)
       left join receiver.pending_deliveries p on p.id = i.id
       group by k.business_id, k.record_id order by min(p.next_at)`,
      [family.name, ...values],
    );
    return rows;
  };

  /**
   * Merges what is due of a family, up to 500 deliveries, or the given records. What cannot be merged waits or has failed,
   * with the reason in `pending_deliveries`, and nothing else waits for it.
   *
   * @throws the database's error, if it is an outage: everything waits as it did
   */
  return async (name: string, request: MergeRequest = {}): Promise<MergeResult> => {
    const { ids = [], records, tellsFeed = true, kind = null } = request;
    const family = byName.get(name)!;
    const result: MergeResult = {
      ...{ outcome: 'done', merged: 0, written: 0, deleted: 0, waiting: 0, failed: 0, left: [] },
    };
    const run: Run = { family, tellsFeed, kind, endsAt: Date.now() + limits.runMs, result };
    if (records) {
      for (let i = 0; i < records.length && result.outcome === 'done'; i += limits.maxDeliveries) {
        const some = records.slice(i, i + limits.maxDeliveries);
        await attemptRecords(run, some).catch((error) =>
          retry(
            run,
            error,
            'select * from unnest($2::text[], $3::text[]) as r(business_id, record_id)',
            columnsOfKeys(some),
          ),
        );
      }
      return result;
    }
    const size = sizeOf(family);
    const some = ids.slice(0, size);
    const due = [some, size - some.length];
    try {
      await attempt(run, 'due', limits.maxDeliveries, due);
      sizes.set(family.name, Math.min(size * 2, limits.maxDeliveries));
    } catch (error) {
      const deliveries = dueDeliveries(family, '$2', '$3');
      await retry(
        run,
        error,
        `select distinct i.business_id, i.record_id from (${deliveries}) due join receiver.inbox i using (id)`,
        due,
      );
    }
    return result;
  };

  /** A merge of several records has failed: finds those at fault. */
  async function retry(run: Run, error: unknown, records: string, values: unknown[]): Promise<void> {
    const fault = faultInMerge(error);
    if (fault === 'outage') throw error;
    if (fault === 'busy') {
      run.result.outcome = 'busy';
      return;
    }
    const candidates = await candidatesOf(run.family, records, values);
    // A single one is tried again: what came since the failure is not to blame.
    if (candidates.length === 1 && fault !== 'other') return mergeCandidates(run, candidates);
    return handle(run, candidates, error);
  }
}

const failed = "'infinity'";

class Busy extends Error {}

class TableLocked extends Error {
  constructor(table: string) {
    super(`the table ${table} is locked by another session`);
  }
}

const timeouts = new Set(['57014', '55P03', '40P01']);
const isTimeout = (error: unknown) => error instanceof pg.DatabaseError && timeouts.has(error.code!);

function faultInMerge(error: unknown): 'busy' | 'outage' | 'refusal' | 'timeout' | 'other' {
  if (error instanceof Busy) return 'busy';
  if (error instanceof TableLocked) return 'other';
  if (isTimeout(error)) return 'timeout';
  const fault = faultOf(error);
  // The other time-outs have ended the session.
  return fault === 'timeout' ? 'outage' : fault;
}

const columnsOfKeys = (records: readonly RecordKey[]) => [
  records.map(({ businessId }) => businessId),
  records.map(({ recordId }) => recordId),
];
