import type pg from 'pg';
import type { Delivery } from '../../callbacks/delivery.ts';
import { hasState } from './errors.ts';
import { queryPrepared } from './pools.ts';

// Raw SQL: one statement stores a commit's deliveries with their pending rows, counts resends and asks the gate, so that it
// costs one trip to the server. Measured: 32,000 deliveries a second, 64 a commit.

/** `gated`: the delivery may concern an erasure, and was not stored. */
type InsertResult = 'accepted' | 'duplicate' | 'gated';

/** A row of inbox as a Delivery without its content. */
export const headColumns = `id, family, event, client_id as "clientId", business_id as "businessId", record_id as "recordId",
  version, to_jsonb(extract(epoch from event_time) * 1000) as "eventMs", subjects,
  to_jsonb(extract(epoch from received_at) * 1000000) as "receivedAt"`;
/** As a Delivery, whose body has the keys in PostgreSQL's order and all digits of its numbers. */
export const storedColumns = `${headColumns}, convert_to(envelope::text, 'UTF8') as body, data::text`;

/**
 * A common table expression without rows. PostgreSQL locks the tables of a statement before it takes the snapshot, so what has
 * this, and an erasure, which locks the table exclusively, see each other's changes.
 */
export const gate = 'gate as (select from receiver.erased where false for share)';

/**
 * Common table expressions; `gated` has the ids of those deliveries that an erasure may concern: by their id before they were
 * reduced, and by the patient whom they name, or else by their record or one that they refer to. They cost nothing until something
 * was erased.
 *
 * @param deliveries SQL behind `from`, rows with the columns of inbox
 */
export const gatedOf = (deliveries: string): string => `
asked as materialized (
  select id, unnest(case
    -- Nearly all name one patient: their records make them nobody else's, and each hash takes its time.
    when subjects[1] like 'p:%' and not coalesce(subjects[2] like 'p:%', false) then subjects[1:1]
    else subjects || receiver.record_subject(family, business_id, record_id)
  end || ('d:' || id)) as subject
  from ${deliveries} where exists (select from receiver.erased)
), gated as materialized (
  select distinct id from asked where subject in (select subject from receiver.erased_of(array(select subject from asked)))
)`;

const columns =
  'id, family, event, client_id, business_id, record_id, version, event_time, subjects, envelope, data, received_at, stored_at';

/** The rows of a parameter that `toJsonb` makes, as `d`. */
export const incoming = `incoming as materialized (
  select d.id, d.family, d.event, d.client_id, d.business_id, coalesce(d.record_id, d.id::text) as record_id, d.version,
         to_timestamp(d.event_ms / 1000.0) as event_time, d.subjects, d.envelope, d.data,
         timestamptz 'epoch' + d.received_us * interval '1 microsecond' as received_at,
         coalesce(d.stored_at, clock_timestamp()) as stored_at, d.copies
  from jsonb_to_recordset($1::jsonb) as d(
    id uuid, family text, event text, client_id text, business_id text, record_id text, version text, event_ms numeric,
    subjects text[], envelope jsonb, data jsonb, received_us bigint, stored_at timestamptz, copies int
  )
)`;

const endOfInsertion = `
select id, 'gated' as result from gated
union all
-- A commit is on disk even where synchronous_commit is off for the database or the role.
select null, set_config('synchronous_commit', 'on', true)`;

/**
 * The first of two copies to arrive counts, also where the other was stored before: the fallback store's may come later. Then it
 * is merged again.
 */
const insertion = `
with ${incoming}, ${gate}, ${gatedOf('incoming')}, ungated as not materialized (
  select * from incoming where id not in (select id from gated)
), stored as (
  insert into receiver.inbox (${columns})
  select ${columns} from ungated order by id
  on conflict (id) do update
    set version = excluded.version, envelope = excluded.envelope, data = excluded.data, received_at = excluded.received_at,
        stored_at = least(inbox.stored_at, excluded.stored_at)
    where excluded.received_at < inbox.received_at
  returning id, family, xmax = 0 as is_new
), pending as (
  insert into receiver.pending_deliveries (id, family) select id, family from stored
  -- Another next_at: a merge that has read the other copy does not take this one for merged.
  on conflict (id) do update set next_at = excluded.next_at, attempts = 0, error = null
), resent as (
  insert into receiver.resends (id, count, last_at)
  select id, copies - coalesce(is_new, false)::int, now() from ungated left join stored using (id)
  where copies > coalesce(is_new, false)::int order by id
  on conflict (id) do update set count = resends.count + excluded.count, last_at = excluded.last_at
)
select id, 'duplicate' as result from ungated where id not in (select id from stored where is_new)
union all
${endOfInsertion}`;

/** Where none was stored before; otherwise it raises 23505. */
const insertionOfNew = `
with ${incoming}, ${gate}, ${gatedOf('incoming')}, stored as (
  insert into receiver.inbox (${columns})
  select ${columns} from incoming where id not in (select id from gated) order by id returning id, family
), pending as (
  insert into receiver.pending_deliveries (id, family) select id, family from stored
)
${endOfInsertion}`;

/** For gate/gate.ts, which has locked the gate's table. */
export const insertUngated = `
with ${incoming}, stored as (
  insert into receiver.inbox (${columns}) select ${columns} from incoming order by id
  on conflict (id) do nothing returning id, family
)
insert into receiver.pending_deliveries (id, family) select id, family from stored on conflict (id) do nothing`;

/** After so many commits without a resend the next one is tried as if it had none: that takes an eighth less of PostgreSQL. */
const calmCommits = 20;
const commitsSinceResend = new WeakMap<pg.Pool, number>();

/**
 * Inserts deliveries in one commit; they may contain copies.
 *
 * @returns a result for each, in order
 * @throws the database's error; then none is stored
 */
export async function insertDeliveries(
  pool: pg.Pool,
  deliveries: readonly Delivery[],
  timeoutMs: number,
): Promise<InsertResult[]> {
  const query = insertQuery(deliveries, timeoutMs);
  const calm = commitsSinceResend.get(pool) ?? calmCommits;
  const isTakenForNew = calm >= calmCommits && query.isWithoutCopies;
  const run = (text: string) =>
    queryPrepared<{ id: string | null; result: InsertResult }>(pool, { ...query, text });
  const rows = await run(isTakenForNew ? insertionOfNew : insertion).catch((error) => {
    if (!isTakenForNew || !hasState(error, 'uniqueViolation')) throw error;
    return run(insertion);
  });
  const results = new Map(rows.map(({ id, result }) => [id, result]));
  const hasResend = rows.some(({ result }) => result === 'duplicate');
  commitsSinceResend.set(pool, hasResend || !query.isWithoutCopies ? 0 : calm + 1);
  return deliveries.map(({ id }) => {
    const result = results.get(id) ?? 'accepted';
    // Further copies of the same commit.
    if (result === 'accepted') results.set(id, 'duplicate');
    return result;
  });
}

export function insertQuery(deliveries: readonly Delivery[], timeoutMs: number) {
  const first = new Map<string, { delivery: Delivery; copies: number }>();
  for (const delivery of deliveries) {
    const earlier = first.get(delivery.id);
    if (!earlier) first.set(delivery.id, { delivery, copies: 1 });
    else {
      earlier.copies += 1;
      if (delivery.receivedAt < earlier.delivery.receivedAt) earlier.delivery = delivery;
    }
  }
  const values = [toJsonb([...first.values()])];
  return {
    text: insertion,
    values,
    query_timeout: timeoutMs,
    isWithoutCopies: first.size === deliveries.length,
  };
}

/** A jsonb parameter in binary format, a version byte and the text: bodies are sent as received, not encoded or quoted again. */
export function toJsonb(deliveries: readonly { delivery: Delivery; copies: number }[]): Buffer {
  const parts: Buffer[] = [];
  let before = '\u0001[';
  for (const { delivery, copies } of deliveries) {
    const { id, family, event, clientId, businessId, recordId, version, eventMs, subjects, data } = delivery;
    // A template, where only what senders choose is quoted: JSON.stringify of the whole takes three times as long.
    const record = recordId === id ? '' : `"record_id":${JSON.stringify(recordId)},`;
    const stored = delivery.storedAt ? `"stored_at":"${delivery.storedAt}",` : '';
    const merged = data === null ? '' : `"data":${data},`;
    const head =
      `${before}{"id":"${id}","family":"${family}","event":${JSON.stringify(event)},"client_id":${JSON.stringify(clientId)},` +
      `"business_id":${JSON.stringify(businessId)},${record}"version":"${version}","event_ms":${eventMs},` +
      `"subjects":${JSON.stringify(subjects)},"received_us":${delivery.receivedAt},"copies":${copies},${stored}${merged}"envelope":`;
    parts.push(Buffer.from(head), delivery.body);
    before = '},';
  }
  parts.push(Buffer.from('}]'));
  return Buffer.concat(parts);
}
