import { type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import type { RecordKey } from '../callbacks/delivery.ts';
import type { Family } from '../callbacks/families/family.ts';
import type { Core } from '../receiver/feature.ts';
import { checkFamilies, gateLock } from '../receiver/gate/gate.ts';
import { readOwners, referencesOf, subjectOf } from '../receiver/gate/owners.ts';
import { faultOf, OtherFamilies } from '../receiver/store/errors.ts';
import { inTransaction } from '../receiver/store/pools.ts';
import { keysOf, mergeLock, planSettings } from '../receiver/store/statements/merge-records.ts';
import { findOrphans } from '../receiver/worker/rebuild.ts';
import { recordsAfter } from './records-after.ts';
import { isUnanswered } from './user-deletions.ts';

/** Records of a step. */
const maxRecords = 200;
const statementMs = 10_000;

/** Counts by the name of the policy. */
type Deleted = Record<string, number>;

const ago = (ms: number) => new Date(Date.now() - ms);

/**
 * Deletes by RETENTION: records by their newest event, bodies of the quarantine, entries of the access log; and withheld
 * callbacks by ERASURE_KEEP. A record with a hold or a waiting callback stays.
 *
 * @throws AggregateError where a record or a family could not be deleted; the others are
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
    const policy = { family, before: ago(ms), dryRun, signal };
    const count = await expireRecords(core, policy, errors).catch((error) => void errors.push(error));
    if (count !== undefined) deleted[family.name] = count;
    signal?.throwIfAborted();
  }
  if (quarantine !== undefined) deleted.quarantine = await expireBodies(core, ago(quarantine), dryRun);
  if (accessLog !== undefined && !dryRun) {
    const trim = sql<string>`receiver.trim_access_log(${ago(accessLog)})`.as('count');
    deleted.access_log = Number((await db.selectNoFrom(trim).executeTakeFirstOrThrow()).count);
  }
  deleted.withheld = await destroyWithheld(core, { dryRun });
  if (errors.length > 0) throw new AggregateError(errors, 'Retention could not be applied to everything');
  return deleted;
}

/** Destroys callbacks that were withheld for ERASURE_KEEP since their receipt, unless a patient of theirs has a hold. */
export function destroyWithheld(core: Core, { dryRun = false } = {}): Promise<number> {
  const old = sql`from receiver.withheld w where received_at <= ${ago(core.config.erasure.keepMs)}
    -- Its row has not gone yet.
    and not exists (select from receiver.pending_deliveries p where p.id = w.id)
    and (not exists (select from receiver.holds) or not exists (
      select from receiver.holds h where h.hash = any((select patient_hashes from receiver.erasures e where e.id = w.erasure)
        || array(select receiver.hash_of(s) from jsonb_array_elements_text(w.delivery->'delivery'->'subjects') s)
        || coalesce(w.owner_hashes, '{}'))
    ))`;
  return countOrDelete(core, old, dryRun);
}

/** Deletes refused bodies. A body that names nobody has the holds of its record's patients. */
async function expireBodies(core: Core, before: Date, dryRun: boolean): Promise<number> {
  const old = sql`from receiver.quarantine q where last_received_at < ${before} and not acknowledged
    and not exists (select from receiver.holds where hash = any(array(select receiver.hash_of(s) from unnest(q.subjects) s)))`;
  const query = sql<{ id: string; businessId: string; subjects: string[] }>`
    select id, coalesce(business_id, '') as "businessId", subjects ${old} and exists (select from receiver.holds)`;
  const { rows: nameless } = await query.execute(core.db);
  const held = await inTransaction(core.pool, 'set transaction read only', (client) =>
    findHeld(client, nameless.flatMap(referencesOf)),
  );
  const kept = nameless.filter(({ subjects }) => subjects.some((subject) => held.has(subject)));
  return countOrDelete(core, sql`${old} and id <> all(${kept.map(({ id }) => id)}::uuid[])`, dryRun);
}

const countOrDelete = async ({ db }: Core, from: RawBuilder<unknown>, dryRun: boolean): Promise<number> => {
  const query = dryRun ? sql`select id ${from}` : sql`delete ${from} returning id`;
  const { rows } = await sql<{ count: number }>`
    with rows as (${query}) select count(*)::int as count from rows`.execute(db);
  return rows[0]!.count;
};

interface Policy {
  family: Family;
  before: Date;
  dryRun: boolean;
  signal: AbortSignal | undefined;
}

/** @param errors gets those of single records, which do not keep the others */
async function expireRecords(core: Core, policy: Policy, errors: unknown[]): Promise<number> {
  const { pool, db, merge } = core;
  const { family, before, dryRun, signal } = policy;
  let count = 0;
  // The index is on days.
  const isOld = sql<boolean>`(family = ${family.name} and event_time < ${before} and reporting.day(event_time) <= reporting.day(${before}))`;
  for await (const records of recordsAfter(db, isOld, maxRecords)) {
    signal?.throwIfAborted();
    const expired = await inTransaction(pool, planSettings, (client) => findExpired(client, policy, records));
    const deleted = dryRun ? expired : await deleteCallbacks(core, policy, expired, errors);
    if (!dryRun && deleted.length > 0) await merge(family.name, { records: deleted });
    count += deleted.length;
  }
  if (dryRun) return count;
  // Rows that could not be deleted now, or were not before a crash.
  const orphans = await findOrphans(pool, family);
  if (orphans.length > 0) {
    const { outcome, reason, left } = await merge(family.name, { records: orphans });
    if (outcome !== 'done' || left.length > 0)
      errors.push(new Error(`Rows of ${family.table} are left: ${reason ?? left[0]?.reason ?? outcome}`));
  }
  return count;
}

/** @returns the records that were deleted @throws OtherFamilies; the error of an outage */
async function deleteCallbacks(
  core: Core,
  policy: Policy,
  records: readonly RecordKey[],
  errors: unknown[],
): Promise<RecordKey[]> {
  if (records.length === 0) return [];
  // Inserts wait for a moment: none comes between the look at a record and its end.
  const locks = `${mergeLock()}; ${planSettings}; ${gateLock(statementMs)}`;
  try {
    return await inTransaction(core.pool, locks, async (client) => {
      await checkFamilies(client, core.families);
      const expired = await findExpired(client, policy, records);
      await client.query(removal, [policy.family.name, ...keysOf(expired)]);
      return expired;
    });
  } catch (error) {
    // Without the database, or with other families, no record is at fault.
    if (error instanceof OtherFamilies || faultOf(error) === 'outage') throw error;
    if (records.length === 1) {
      errors.push(error);
      return [];
    }
    const half = Math.ceil(records.length / 2);
    const deleted = await deleteCallbacks(core, policy, records.slice(0, half), errors);
    return [...deleted, ...(await deleteCallbacks(core, policy, records.slice(half), errors))];
  }
}

/** The records without a later event, a waiting callback or a callback of a patient with a hold. */
async function findExpired(
  client: pg.ClientBase,
  { family, before }: Policy,
  records: readonly RecordKey[],
): Promise<RecordKey[]> {
  const { rows } = await client.query<RecordKey>(expired, [family.name, before, ...keysOf(records)]);
  const held = await findHeld(client, rows);
  return rows.filter((record) => !held.has(subjectOf(record)));
}

/** The subjects of the records with a callback of a patient with a hold. */
async function findHeld(client: pg.ClientBase, records: readonly RecordKey[]): Promise<Set<string>> {
  const { rows } = await client.query<{ hash: string }>('select hash from receiver.holds');
  if (rows.length === 0 || records.length === 0) return new Set();
  const hashes = new Set(rows.map(({ hash }) => hash));
  const owners = await readOwners(client, records);
  const held = records.filter((_, n) => owners[n]!.some((hash) => hashes.has(hash)));
  return new Set(held.map(subjectOf));
}

const expired = `
select business_id as "businessId", record_id as "recordId", $1 as family
from unnest($3::text[], $4::text[]) as r(business_id, record_id)
where not exists (
  select from receiver.inbox i left join receiver.pending_deliveries p using (id)
  where (i.business_id, i.family, i.record_id) = (r.business_id, $1, r.record_id)
    and (i.event_time >= $2 or p.id is not null or ${isUnanswered})
)`;

const removal = `
with gone as (
  delete from receiver.inbox i using unnest($2::text[], $3::text[]) as r(business_id, record_id)
  where (i.business_id, i.family, i.record_id) = (r.business_id, $1, r.record_id) returning i.id
)
delete from receiver.resends where id in (select id from gone)`;
