/**
 * Raw SQL: one statement stores a commit's deliveries with their pending rows, counts resends and asks the gate, so that it
 * costs one trip to the server. Measured: 32,000 deliveries a second, 64 a commit.
 */

/**
 * PostgreSQL locks the tables of a whole statement before it takes the snapshot. So what has this common table expression,
 * which has no rows, and an erasure, which locks the table exclusively, see each other's changes.
 */
export const gate = 'gate as (select from receiver.erased where false for share)';

/**
 * SQL for whether a delivery `d` may concern an erasure. It costs nothing until something was erased.
 *
 * - a subject of a person whose earlier callbacks were erased, or a record of theirs that it refers to
 * - its record, which has reduced callbacks
 * - itself: its id was another before it was reduced
 */
const concernsErasure = `exists (select from receiver.erased) and exists (
  select from receiver.erased e
  where e.hash = any (array(
    select receiver.hash_of(s) from unnest(d.subjects || array[receiver.record_subject(d.family, d.business_id, d.record_id), 'd:' || d.id]) s
  ))
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

/**
 * Of two copies the first to arrive counts, also where the other one was stored before: a copy from the fallback store may come
 * later than it arrived. Then it is merged again.
 *
 * @param isStored SQL for whether a delivery of `incoming` is stored
 */
const insertion = (isStored: string): string => `
with ${incoming}, ${gate}, gated as materialized (
  select id from incoming d where ${concernsErasure}
), ungated as not materialized (
  select * from incoming where ${isStored}
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
select id, 'gated' from gated
union all
-- A commit is on disk even where synchronous_commit is off for the database or the role.
select null, set_config('synchronous_commit', 'on', true)`;

/** Stores nothing where a delivery is gated: the others wait for it, so that one commit has them all. */
export const insertAllOrNone = insertion('not exists (select from gated)');
export const insertUnlessGated = insertion('id not in (select id from gated)');

/** Stores deliveries behind the gate: see gate/gate.ts, which has locked its table. */
export const insertUngated = `
with ${incoming}, stored as (
  insert into receiver.inbox (${columns}) select ${columns} from incoming order by id
  on conflict (id) do nothing returning id, family
)
insert into receiver.pending_deliveries (id, family) select id, family from stored on conflict (id) do nothing`;
