import { sql } from 'kysely';
import { keysOf, type RecordKey } from '../callbacks/delivery.ts';
import type { Family } from '../callbacks/families/family.ts';
import type { Core } from '../receiver/feature.ts';
import { gateLock } from '../receiver/gate/gate.ts';
import { faultOf, OtherFamilies } from '../receiver/store/errors.ts';
import { fingerprintOf } from '../receiver/store/migrate.ts';
import { inTransaction } from '../receiver/store/pools.ts';
import {
  type MergeCounts,
  mergeLock,
  mergeStatements,
  planSettings,
} from '../receiver/store/statements/merge-records.ts';
import { isUnanswered } from './user-deletions.ts';

/** Records of one step. */
const maxRecords = 200;
const statementMs = 10_000;

/** How many records, bodies, entries or callbacks went, by the name of the policy. */
export type Deleted = Record<string, number>;

const ago = (ms: number) => new Date(Date.now() - ms);

/**
 * Deletes what is older than RETENTION says: records by their newest event, bodies of the quarantine, entries of the access
 * log; and withheld callbacks by ERASURE_KEEP. A record of which a callback waits or that is held stays.
 *
 * @param dryRun counts and changes nothing
 */
export async function applyRetention(
  core: Core,
  { dryRun = false, signal }: { dryRun?: boolean; signal?: AbortSignal } = {},
): Promise<Deleted> {
  const { config, db, families } = core;
  const { quarantine, access_log: accessLog, ...kept } = config.retention;
  const deleted: Deleted = {};
  const errors: unknown[] = [];
  for (const family of families) {
    const ms = kept[family.name];
    if (ms === undefined) continue;
    // A row that somebody locks, or a broken table, does not keep the others.
    await expireRecords(core, family.name, ago(ms), dryRun, signal).then(
      (count) => {
        deleted[family.name] = count;
      },
      (error) => errors.push(error),
    );
    signal?.throwIfAborted();
  }
  if (quarantine !== undefined) {
    // What was acknowledged stays until somebody drops it.
    const old = sql`from receiver.quarantine q where last_received_at < ${ago(quarantine)} and not acknowledged
      and not exists (select from receiver.holds where hash = any(array(select receiver.hash_of(s) from unnest(q.subjects) s)))`;
    deleted.quarantine = await countRows(
      core,
      dryRun ? sql`select id ${old}` : sql`delete ${old} returning id`,
    );
  }
  if (accessLog !== undefined && !dryRun) {
    const { rows } = await sql<{ count: string }>`
      select receiver.trim_access_log(${ago(accessLog)}) as count`.execute(db);
    deleted.access_log = Number(rows[0]!.count);
  }
  deleted.withheld = await destroyWithheld(core, { dryRun });
  if (errors.length > 0) throw new AggregateError(errors, 'Retention could not be applied to all families');
  return deleted;
}

/** Destroys what was withheld for ERASURE_KEEP since its receipt, unless the patient is held. @returns how many callbacks */
export function destroyWithheld(core: Core, { dryRun = false } = {}): Promise<number> {
  const old = sql`from receiver.withheld w where received_at <= ${ago(core.config.erasure.keepMs)}
    -- Its row has not gone yet.
    and not exists (select from receiver.pending_deliveries p where p.id = w.id)
    and (not exists (select from receiver.holds) or not exists (
      select from receiver.holds h where h.hash = any((select names from receiver.erasures e where e.id = w.erasure)
        || array(select receiver.hash_of(s) from jsonb_array_elements_text(w.delivery->'delivery'->'subjects') s)
        || coalesce(w.owners, '{}'))
    ))`;
  return countRows(core, dryRun ? sql`select id ${old}` : sql`delete ${old} returning id`);
}

const countRows = async ({ db }: Core, query: ReturnType<typeof sql>): Promise<number> => {
  const { rows } = await sql<{ count: number }>`
    with rows as (${query}) select count(*)::int as count from rows`.execute(db);
  return rows[0]!.count;
};

async function expireRecords(
  core: Core,
  name: string,
  before: Date,
  dryRun: boolean,
  signal?: AbortSignal,
): Promise<number> {
  const { pool, families } = core;
  const family = families.find((one) => one.name === name)!;
  let count = 0;
  const errors: unknown[] = [];
  for (let last: RecordKey | undefined; ; ) {
    signal?.throwIfAborted();
    const { rows } = await pool.query<RecordKey>(expired, [
      ...[name, before, last?.businessId ?? null, last?.recordId ?? null, maxRecords],
    ]);
    if (rows.length === 0) break;
    last = rows.at(-1);
    if (dryRun) {
      count += rows.length;
      continue;
    }
    count += await endEach(core, family, before, rows, errors);
  }
  if (errors.length > 0) throw new AggregateError(errors, `Records of ${family.table} could not be deleted`);
  return count;
}

class RowsLocked extends Error {
  constructor(table: string) {
    super(`Another session locks rows of ${table} that have to go`);
  }
}

/** One that somebody locks does not keep the others. @returns how many went @throws OtherFamilies; the error of an outage */
async function endEach(
  core: Core,
  family: Family,
  before: Date,
  records: readonly RecordKey[],
  errors: unknown[],
): Promise<number> {
  try {
    return await endRecords(core, family, before, records);
  } catch (error) {
    // Without the database, or with other families, no record is at fault.
    if (error instanceof OtherFamilies || faultOf(error) === 'outage') throw error;
    if (records.length === 1) {
      errors.push(error);
      return 0;
    }
    let count = 0;
    for (const one of records) count += await endEach(core, family, before, [one], errors);
    return count;
  }
}

/** Deletes those of these records that have expired, and their rows. @returns how many */
async function endRecords(
  { pool, families }: Core,
  family: Family,
  before: Date,
  records: readonly RecordKey[],
): Promise<number> {
  // Inserts wait for a moment: none comes between the look at a record and its end.
  const locks = `${mergeLock()}; ${planSettings}; ${gateLock(statementMs)}`;
  return inTransaction(pool, locks, async (client) => {
    const gone = await client.query<RecordKey>(removal, [family.name, before, ...keysOf(records)]);
    const values = [fingerprintOf(families), true, ...keysOf(gone.rows)];
    const merged = await client.query<MergeCounts>(mergeStatements(family).records, values);
    const { isCurrent, locked } = merged.rows[0]!;
    if (!isCurrent) throw new OtherFamilies();
    if (locked.length > 0) throw new RowsLocked(family.table);
    return gone.rows.length;
  });
}

/** SQL for whether a record `r` of the family $1 has no event since $2, waits for nothing and is not held. */
const isExpired = `
not exists (
  select from receiver.inbox i left join receiver.pending_deliveries p using (id)
  where (i.business_id, i.family, i.record_id) = (r.business_id, $1, r.record_id)
    and (i.event_time >= $2 or p.id is not null or ${isUnanswered})
) and (not exists (select from receiver.holds) or not exists (
  select from receiver.inbox i cross join unnest(i.subjects) s
  -- What only refers to a record of a patient is the patient's.
  left join receiver.inbox o on s like 'r:%' and s = receiver.record_subject(o.family, o.business_id, o.record_id)
    and o.business_id = i.business_id and o.family = split_part(s, ':', 2)
    and o.record_id = substr(s, length(receiver.record_subject(split_part(s, ':', 2), i.business_id, '')) + 1)
  cross join unnest(coalesce(o.subjects, array[s])) named
  join receiver.holds h on h.hash = receiver.hash_of(named)
  where (i.business_id, i.family, i.record_id) = (r.business_id, $1, r.record_id)
))`;

const expired = `
select business_id as "businessId", record_id as "recordId", $1 as family from (
  select distinct business_id, record_id from receiver.inbox
  where family = $1 and event_time < $2 and ($3::text is null or (business_id, record_id) > ($3, $4))
) r
where ${isExpired} order by 1, 2 limit $5`;

const removal = `
with r as materialized (
  select * from unnest($3::text[], $4::text[]) as r(business_id, record_id) where ${isExpired}
), gone as (
  delete from receiver.inbox i using r
  where (i.business_id, i.family, i.record_id) = (r.business_id, $1, r.record_id) returning i.id
), resent as (
  delete from receiver.resends where id in (select id from gone)
)
select business_id as "businessId", record_id as "recordId", $1 as family from r`;
