import { type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import type { RecordKey } from '../callbacks/delivery.ts';
import type { Family } from '../callbacks/families/family.ts';
import type { Core } from '../receiver/feature.ts';
import { checkFamilies, gateLock } from '../receiver/gate/gate.ts';
import { readOwners } from '../receiver/gate/owners.ts';
import { inTransaction } from '../receiver/store/pools.ts';
import { keysOf, mergeLock, planSettings } from '../receiver/store/statements/merge-records.ts';
import { findOrphans } from '../receiver/worker/rebuild.ts';

const maxRecords = 200;
const statementMs = 10_000;

type Deleted = Record<string, number>;

/** By the earlier of two clocks: one that is ahead alone deletes nothing. */
async function openAgo({ db }: Core): Promise<(ms: number) => Date> {
  const { rows } = await sql<{ now: Date }>`select now()`.execute(db);
  const nowMs = Math.min(Date.now(), rows[0]!.now.getTime());
  return (ms) => new Date(nowMs - ms);
}

/**
 * Deletes by RETENTION: records by their newest event, bodies of the quarantine, entries of the access log; and withheld
 * callbacks by ERASURE_KEEP. A record with a hold or a waiting callback stays.
 *
 * @throws AggregateError where a family could not be deleted; the others are
 */
export async function applyRetention(
  core: Core,
  { dryRun = false, signal }: { dryRun?: boolean; signal?: AbortSignal } = {},
): Promise<Deleted> {
  const { config, db, families } = core;
  const { quarantine, access_log: accessLog, ...kept } = config.retention;
  const deleted: Deleted = {};
  const errors: unknown[] = [];
  const ago = await openAgo(core);
  for (const family of families) {
    const ms = kept[family.name];
    if (ms === undefined) continue;
    signal?.throwIfAborted();
    await expireRecords(core, { family, before: ago(ms), dryRun, signal }).then(
      (count) => {
        deleted[family.name] = count;
      },
      (error) => errors.push(error),
    );
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
export async function destroyWithheld(core: Core, { dryRun = false } = {}): Promise<number> {
  const ago = await openAgo(core);
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

/** Deletes refused bodies. While there is a hold, those that name nobody stay as well: they may be about its patient. */
function expireBodies(core: Core, before: Date, dryRun: boolean): Promise<number> {
  const old = sql`from receiver.quarantine q where last_received_at < ${before} and not acknowledged
    and (not exists (select from receiver.holds) or exists (select from unnest(q.subjects) s where s like 'p:%')
      and not exists (select from receiver.holds where hash = any(array(select receiver.hash_of(s) from unnest(q.subjects) s))))`;
  return countOrDelete(core, old, dryRun);
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

async function expireRecords(core: Core, policy: Policy): Promise<number> {
  const { pool, families, merge } = core;
  const { family, before, dryRun, signal } = policy;
  const { rows: records } = await pool.query<RecordKey>(oldRecords, [family.name, before]);
  // Inserts wait for a moment: none comes between the look at a record and its end.
  const locks = `${mergeLock()}; ${planSettings}; ${gateLock(statementMs)}`;
  let count = 0;
  for (let at = 0; at < records.length; at += maxRecords) {
    signal?.throwIfAborted();
    const step = records.slice(at, at + maxRecords);
    const expired = await inTransaction(pool, dryRun ? planSettings : locks, async (client) => {
      const found = await findExpired(client, policy, step);
      if (dryRun) return found;
      await checkFamilies(client, families);
      await client.query(removal, [family.name, ...keysOf(found)]);
      return found;
    });
    if (!dryRun && expired.length > 0) await merge(family.name, { records: expired });
    count += expired.length;
  }
  if (dryRun) return count;
  // Rows that could not be deleted now, or were not before a crash.
  const orphans = await findOrphans(pool, family);
  if (orphans.length === 0) return count;
  const { outcome, reason, left } = await merge(family.name, { records: orphans });
  if (outcome === 'done' && left.length === 0) return count;
  throw new Error(`Rows of ${family.table} are left: ${reason ?? left[0]?.reason ?? outcome}`);
}

/** The records without a later event, a waiting callback or a callback of a patient with a hold. */
async function findExpired(
  client: pg.ClientBase,
  { family, before }: Policy,
  records: readonly RecordKey[],
): Promise<RecordKey[]> {
  const { rows } = await client.query<RecordKey>(expired, [family.name, before, ...keysOf(records)]);
  const holds = await client.query<{ hash: string }>('select hash from receiver.holds');
  if (holds.rows.length === 0 || rows.length === 0) return rows;
  const held = new Set(holds.rows.map(({ hash }) => hash));
  const owners = await readOwners(client, rows);
  return rows.filter((_, n) => !owners[n]!.some((hash) => held.has(hash)));
}

/** @param records SQL behind `from`, as `r` */
const expiredOf = (records: string) => `
select business_id as "businessId", record_id as "recordId", $1 as family from ${records}
where not exists (
  select from receiver.inbox i left join receiver.pending_deliveries p using (id)
  where (i.business_id, i.family, i.record_id) = (r.business_id, $1, r.record_id) and (i.event_time >= $2 or p.id is not null)
)`;
// What refers to a record, and has no other owner (see gate/owners.ts), is its patient's only through it.
const expired = `${expiredOf('unnest($3::text[], $4::text[]) as r(business_id, record_id)')}
and not exists (
  select from receiver.callbacks_with(array[receiver.record_subject($1, r.business_id, r.record_id)]) c
  where not exists (
    -- With an offset it reads a record by index, and not all callbacks.
    select from receiver.inbox i, unnest(i.subjects) s
    where (i.business_id, i.family, i.record_id) = (c.business_id, c.family, c.record_id) and s ~ '^[pe]:' offset 0
  )
)`;
// The index is on days.
const oldRecords = expiredOf(`(
  select distinct business_id, record_id from receiver.inbox
  where family = $1 and event_time < $2 and reporting.day(event_time) <= reporting.day($2)
) r`);

const removal = `
with gone as (
  delete from receiver.inbox i using unnest($2::text[], $3::text[]) as r(business_id, record_id)
  where (i.business_id, i.family, i.record_id) = (r.business_id, $1, r.record_id) returning i.id
)
delete from receiver.resends where id in (select id from gone)`;
