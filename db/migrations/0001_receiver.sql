-- The tables of the receiver itself, in a schema of its own. Those of the families are made from their files, by `migrate`.

create schema if not exists receiver;
comment on schema receiver is 'Tables of the receiver itself. People query the tables of public and the views of reporting';

create table receiver.settings (
  name  text primary key,
  value text not null
);
comment on table receiver.settings is 'identity: of this database; salt: of the hashes of erased people; families: the fingerprint of the families that its tables were made for; version and revision: the newest build that has made tables or views; stale_merged: when rows were last compared with their newest callbacks; reporting: a hash of the views'' text; reporting_views: their names; subscriptions: what the last look at those of the platform has found; feed_epoch: the beginning of each cursor: another value makes every reader of changes begin anew';
insert into receiver.settings values ('identity', gen_random_uuid()), ('salt', concat(gen_random_uuid(), gen_random_uuid())),
  ('feed_epoch', right(gen_random_uuid()::text, 12));

create table receiver.tasks (
  name          text        primary key,
  holder        uuid        not null,
  held_until    timestamptz not null,
  due_at        timestamptz not null default now(),
  failing_since timestamptz
);
comment on table receiver.tasks is 'Work that repeats: which process has it until when, and when it is due again';

---------------------------------------------------------------------------------------------------------- Callbacks

create table receiver.inbox (
  id          uuid        primary key,
  family      text        not null,
  event       text        not null,
  client_id   text        not null,
  business_id text        not null,
  record_id   text        not null,
  version     text        collate "C" not null,
  event_time  timestamptz not null,
  subjects    text[]      not null,
  envelope    jsonb       not null,
  data        jsonb,
  received_at timestamptz not null,
  stored_at   timestamptz not null default clock_timestamp()
);
comment on table  receiver.inbox             is 'Every acknowledged callback, once';
comment on column receiver.inbox.id          is 'Of the event time and the content, so that a resend has the same id';
comment on column receiver.inbox.record_id   is 'The record of the business that it is about; the id itself, where it is a record of its own';
comment on column receiver.inbox.version     is 'Its place among the callbacks of its record: texts that sort bytewise';
comment on column receiver.inbox.subjects    is 'p:<kind>:<id> for each id of a patient, r:<family>:<business>:<record> for each other record that it refers to; reduced and e:<hash> after an erasure';
comment on column receiver.inbox.envelope    is 'The callback as received, without secrets';
comment on column receiver.inbox.data        is 'What is merged, where it differs from envelope->data';

create function receiver.record_subject(family text, business_id text, record_id text) returns text
  language sql immutable parallel safe return 'r:' || family || ':' || business_id || ':' || record_id;
comment on function receiver.record_subject is 'How subjects name a record';

create function receiver.is_current(fingerprint text) returns boolean
  language sql stable parallel safe
  return exists (select from receiver.settings where name = 'families' and value = fingerprint);
comment on function receiver.is_current is 'Whether the tables are made for the families of this fingerprint';

-- A merge reads all callbacks of a record.
create index inbox_record on receiver.inbox (business_id, family, record_id);
-- An erasure finds the callbacks of a patient. Without fastupdate no insert has to empty the list of others.
create index inbox_subjects on receiver.inbox using gin (subjects) with (fastupdate = off);

create table receiver.pending_deliveries (
  id       uuid        primary key,
  family   text        not null,
  attempts integer     not null default 0,
  next_at  timestamptz not null default clock_timestamp(),
  error    text
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
comment on table  receiver.pending_deliveries         is 'Callbacks that are not merged into their rows yet';
comment on column receiver.pending_deliveries.next_at is 'When they are tried; infinity: their data was refused, see error';
comment on column receiver.pending_deliveries.error   is 'Why the last attempt merged nothing';
-- The next ones of a family.
create index pending_next on receiver.pending_deliveries (family, next_at);

create table receiver.resends (
  id      uuid        primary key,
  count   integer     not null,
  last_at timestamptz not null
);
comment on table receiver.resends is 'How often a callback was received again';

create table receiver.quarantine (
  id               uuid        primary key,
  path             text        not null,
  family           text        not null,
  business_id      text,
  reason           text        not null,
  errors           jsonb       not null,
  body             bytea       not null,
  subjects         text[]      not null default '{}',
  acknowledged     boolean     not null default false,
  count            integer     not null default 1,
  received_at      timestamptz not null default now(),
  last_received_at timestamptz not null default now(),
  replayed_at      timestamptz
);
comment on table  receiver.quarantine              is 'Bodies that were refused, once per content and path';
comment on column receiver.quarantine.family       is 'The family of its path';
comment on column receiver.quarantine.business_id  is 'As the body says; null where it cannot be read';
comment on column receiver.quarantine.subjects     is 'Whom it names, and its record or those that it refers to, as far as it can be read: as in inbox';
comment on column receiver.quarantine.acknowledged is 'Acknowledged before it was refused: it stays until somebody drops it';

create table receiver.counters (
  name     text        not null,
  key      text        not null,
  count    bigint      not null,
  first_at timestamptz not null,
  last_at  timestamptz not null,
  example  uuid,
  primary key (name, key)
);
comment on table receiver.counters is 'drift: where callbacks differ from the documents; lost: callbacks that are gone; rejections: refused requests, by hour and status; stale: rows that the daily merge has corrected; silence: businesses that send no more, made anew every ten minutes';

--------------------------------------------------------------------------------------------------------------- Merge

create aggregate receiver.jsonb_merge(jsonb) (sfunc = jsonb_concat, stype = jsonb, initcond = '{}', parallel = safe);
comment on aggregate receiver.jsonb_merge(jsonb) is 'Objects merged by their keys: the last that has a key decides it';

-- An empty table: the key of an advisory lock can be taken by any login.
create table receiver.merge_lock ();
comment on table receiver.merge_lock is 'Who merges has an exclusive lock of it';

create table receiver.changes (
  position    bigint      generated always as identity primary key,
  at          timestamptz not null default clock_timestamp(),
  family      text        not null,
  business_id text        not null,
  record_id   text        not null,
  kind        text        not null
);
comment on table receiver.changes is 'What merges have changed, in the order of their commits: changed, deleted or erased. Without families whose records'' ids identify a patient';
-- Is it the newest of its record?
create index changes_record on receiver.changes (business_id, family, record_id, position);

-- Not strict, so that PostgreSQL inlines it.
create function receiver.time_of_number(value numeric) returns timestamptz
  language sql stable parallel safe
  return case
    when value > 1e11 then to_timestamp(div(value, 1000)) + mod(value, 1000) * interval '1 millisecond'
    else to_timestamp(value)
  end;

create function receiver.time_of(value jsonb) returns timestamptz
  language sql stable parallel safe
  return case
    when jsonb_typeof(value) = 'number' then receiver.time_of_number(value::numeric)
    when value #>> '{}' ~ '^\s*-?\d+(\.\d+)?\s*$' then receiver.time_of_number((value #>> '{}')::numeric)
    else (value #>> '{}')::timestamptz
  end;
comment on function receiver.time_of is 'A time of a callback: seconds, milliseconds above 1e11, or ISO 8601 with an offset';

create function receiver.name_of(value jsonb) returns text
  language sql immutable parallel safe
  return case
    when jsonb_typeof(value) = 'object'
      then nullif(concat_ws(' ', value->>'salutation', value->>'first_name', value->>'last_name'), '')
    else value #>> '{}'
  end;
comment on function receiver.name_of is 'A name that is a text, or an object with salutation, first_name and last_name';

------------------------------------------------------------------------------------------------------------- Erasure

create table receiver.erased (
  hash    text        primary key,
  until   timestamptz not null,
  erasure uuid        not null
);
comment on table  receiver.erased       is 'The gate: salted hashes of subjects and of records whose callbacks are stored without what is personal';
comment on column receiver.erased.until is 'The gate of a subject is for callbacks whose event was before; infinity: of a record or a callback, for ever; -infinity: of a record that has reduced callbacks, and names others too';
-- See receiver.erased_of.
create index erased_by_hash on receiver.erased using hash (hash);

create table receiver.erasures (
  id             uuid        primary key,
  actor          text        not null,
  started_at     timestamptz not null default now(),
  completed_at   timestamptz,
  until          timestamptz not null,
  patient_hashes text[]      not null,
  subjects       text[],
  counts         jsonb       not null default '{}'
);
comment on table  receiver.erasures                is 'The certificates of erasures';
comment on column receiver.erasures.until          is 'The newest event that it erases';
comment on column receiver.erasures.patient_hashes is 'Salted hashes of the patients';
comment on column receiver.erasures.subjects       is 'Whom it erases, and callbacks that a person has named (d:<id>), until it is complete';
comment on column receiver.erasures.counts         is 'The callbacks that it reduced, by family';

create table receiver.withheld (
  id           uuid        primary key,
  erasure      uuid        not null,
  family       text        not null,
  business_id  text,
  record_id    text,
  delivery     jsonb       not null,
  envelope     jsonb,
  data         jsonb,
  owner_hashes text[],
  received_at  timestamptz not null
);
comment on column receiver.withheld.delivery     is 'What is known of the callback; or the row of the quarantine';
comment on column receiver.withheld.envelope     is 'As in inbox, as is data: PostgreSQL copies what is compressed as it is';
comment on column receiver.withheld.owner_hashes is 'Salted hashes of the patients to whom it belonged';
comment on table receiver.withheld is 'Callbacks, and bodies of the quarantine, as they were before an erasure, until ERASURE_KEEP after their receipt';

create table receiver.holds (
  hash  text        primary key,
  actor text        not null,
  at    timestamptz not null default now()
);
comment on table receiver.holds is 'Salted hashes of patients whose data stays, whatever its retention, and whose withheld data is not destroyed';

create table public.access_log (
  entry      bigint      generated always as identity primary key,
  at         timestamptz not null default clock_timestamp(),
  actor      text        not null,
  actor_name text,
  address    text,
  action     text        not null,
  subjects   text[]      not null,
  filter     jsonb       not null,
  rows       integer
);
comment on table  public.access_log          is 'Who saw or changed whose data. An entry comes before the data, or nothing is shown';
comment on column public.access_log.subjects is 'Salted hashes of the patients: see receiver audit list --patient';
comment on column public.access_log.filter   is 'The selection, without personal data';
-- Who has looked at a patient's data?
create index access_log_subjects on public.access_log using gin (subjects);

create function receiver.hash_of(subject text, salt text) returns text
  language sql stable parallel safe
  return case when subject like 'e:%' then substr(subject, 3) else encode(sha256(convert_to(salt || subject, 'UTF8')), 'hex') end;
create function receiver.hash_of(subject text) returns text
  language sql stable parallel safe
  return receiver.hash_of(subject, (select value from receiver.settings where name = 'salt'));
comment on function receiver.hash_of(text) is 'The salted hash of a subject or a record; a reduced callback has it already, as e:<hash>';

-- Each insert asks it once. One salt and one plan: a hash index takes half the time of the primary key, and without statistics, as
-- behind a first erasure, PostgreSQL would read the whole table for each subject.
create function receiver.erased_of(subjects text[]) returns table (subject text, until timestamptz, erasure uuid)
  language plpgsql stable set enable_seqscan = off as $$
declare
  salt constant text := (select value from receiver.settings where name = 'salt');
begin
  return query
    select s, e.until, e.erasure from unnest(subjects) s
    cross join lateral (select * from receiver.erased where hash = receiver.hash_of(s, salt) offset 0) e;
end
$$;
comment on function receiver.erased_of is 'The subjects, of these, that the gate has';

----------------------------------------------------------------------------------------------------- Beside the path

create table receiver.aliases (
  kind       text        not null check (kind in ('business', 'clinic', 'doctor')),
  id         text        not null,
  alias      text        check (alias <> ''),
  updated_at timestamptz not null default now(),
  updated_by text        not null,
  primary key (kind, id)
);
comment on table  receiver.aliases            is 'Names for the ids of businesses, clinics and doctors';
comment on column receiver.aliases.alias      is 'Null: somebody removed the platform''s name, which does not come back';
comment on column receiver.aliases.updated_by is 'Who entered it: an actor of the access log; platform: the platform''s directory';

create table receiver.sessions (
  hash       bytea       primary key,
  actor      text        not null,
  actor_name text,
  roles      text[]      not null,
  address    text        not null,
  begun_at   timestamptz not null default now()
);
comment on table  receiver.sessions       is 'Who is signed in to the console';
comment on column receiver.sessions.hash  is 'Of the cookie, with the secrets of the sign-in: a change of one ends every session';
comment on column receiver.sessions.actor is 'An actor of the access log';

create table receiver.findings (
  channel     text,
  name        text,
  about       text,
  status      text        not null,
  title       text        not null,
  found_at    timestamptz not null default now(),
  gone_at     timestamptz,
  sent_status text,
  sent_at     timestamptz,
  primary key (channel, name, about)
);
comment on table  receiver.findings             is 'Checks that are not ok, and what was sent to each channel of alerts';
comment on column receiver.findings.about       is 'The family, destination or other thing that the check is about; empty: the receiver';
comment on column receiver.findings.gone_at     is 'Since when it is ok again: its end is sent after some minutes';
comment on column receiver.findings.sent_status is 'The status that was sent last; null: nothing was sent';

create table receiver.reconciliations (
  id          bigint      generated always as identity primary key,
  actor       text        not null,
  business_id text,
  from_day    date        not null,
  to_day      date        not null,
  started_at  timestamptz not null default now(),
  ended_at    timestamptz,
  error       text,
  counts      jsonb       not null default '{}'
);
comment on table  receiver.reconciliations       is 'Comparisons of appointments with those that the platform lists';
comment on column receiver.reconciliations.actor is 'worker: the daily one; otherwise who has run the command';
comment on column receiver.reconciliations.error is 'Why it failed; null, with ended_at: it is complete';

create table receiver.heartbeats (
  at timestamptz primary key
);
comment on table receiver.heartbeats is 'The minutes in which a receiver could take callbacks; reporting.outages has the gaps';

--------------------------------------------------------------------------------------------------------------- Feed

create table receiver.destinations (
  id            text        primary key,
  url           text        not null,
  families      text[]      not null,
  business_id   text,
  is_public     boolean     not null,
  secret        text        not null,
  place         text        not null,
  position      bigint      not null,
  outcome       text,
  attempts      integer     not null default 0,
  failing_since timestamptz,
  next_at       timestamptz not null default now(),
  paused        text,
  created_at    timestamptz not null default now()
);
comment on table  receiver.destinations          is 'Where changes are sent to, as signed webhooks';
comment on column receiver.destinations.place    is 'PUBLIC_URL, server and database where somebody has confirmed it: elsewhere, as in a copy, nothing is sent';
comment on column receiver.destinations.position is 'Each change up to it was accepted or skipped';
comment on column receiver.destinations.outcome  is 'The status of the last attempt, or the code of its error';
comment on column receiver.destinations.paused   is 'command, gone (it answered 410) or failing; null: it is not paused';

---------------------------------------------------------------------------------------------------- What people query

create view public.deliveries as
select i.id, i.event, i.family, i.client_id, i.business_id, i.event_time, i.envelope,
       case when p.id is null then 'applied' when p.next_at = 'infinity' then 'failed' else 'received' end as status,
       p.error, 1 + coalesce(r.count, 0) as delivery_count, i.received_at, coalesce(r.last_at, i.received_at) as last_received_at
from receiver.inbox i left join receiver.pending_deliveries p using (id) left join receiver.resends r using (id);
comment on view public.deliveries is 'Every acknowledged callback, and whether it is merged into its row';

-- The service may add entries, and neither change nor delete any.
create function receiver.trim_access_log(before timestamptz) returns bigint
  language sql security definer set search_path = pg_catalog
  begin atomic
    with gone as (
      delete from public.access_log where at < least(before, now() - interval '1 year') returning entry
    )
    select count(*) from gone;
  end;
revoke all on function receiver.trim_access_log from public;
comment on function receiver.trim_access_log is 'Deletes old entries of the access log; none of the last year';

create view public.quarantine as
select id, path, reason, errors, body, received_at, count, replayed_at from receiver.quarantine;
comment on view public.quarantine is 'Bodies that were refused';
