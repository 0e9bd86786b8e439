-- The tables with their indexes, constraints and triggers, and the functions that these use.
-- The views are in db/reporting.

create schema if not exists reporting;
comment on schema reporting is 'Views for reports, with plain names and a comment on each. The tables behind them may change';

---------------------------------------------------------------------------------------------------- Times and days

-- Callbacks contain times as whole numbers of an undocumented unit: above 1e11 they are milliseconds, else seconds.
-- Seconds and milliseconds are added separately because a double cannot represent the sum in microseconds.
-- Not strict, so that PostgreSQL inlines it. Null still results in null.
create function service_time(value numeric) returns timestamptz
  language sql stable parallel safe
  return case
    when value > 1e11 then to_timestamp(div(value, 1000)) + mod(value, 1000) * interval '1 millisecond'
    else to_timestamp(value)
  end;
comment on function service_time is 'A time of the service (seconds, or milliseconds above 1e11) as timestamptz';

-- The time zone of days and hours is a constant in these functions, not a row of a table: an index needs
-- functions that read no table, and the planner inlines these, so that a condition on a view's day uses the
-- index. They are immutable as long as only the service replaces them: it rebuilds the indexes on days
-- afterwards.
create function reporting.write_zone(zone text) returns void
  language plpgsql
as $$
begin
  execute format(
    'create or replace function reporting.timezone() returns text
       language sql immutable parallel safe return %1$L;
     create or replace function reporting.day(at timestamptz) returns date
       language sql immutable strict parallel safe return (at at time zone %1$L)::date;
     create or replace function reporting.hour(at timestamptz) returns timestamptz
       language sql immutable strict parallel safe return date_bin(''1 hour'', at, %2$L::timestamptz);
     create or replace function reporting.today() returns date
       language sql stable parallel safe return (now() at time zone %1$L)::date',
    zone,
    -- Local midnight: in some zones hours begin at half past those of UTC.
    to_char((timestamp '2000-01-01' at time zone zone) at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS"+00"'));
end
$$;
revoke execute on function reporting.write_zone from public;
select reporting.write_zone('Asia/Kolkata');

comment on function reporting.write_zone is 'Writes the functions that contain the time zone; indexes on days must be rebuilt after it';
comment on function reporting.timezone   is 'The time zone of days and hours (REPORT_TIMEZONE)';
comment on function reporting.day        is 'The day of a moment, in the time zone of the reports';
comment on function reporting.hour       is 'The beginning of the hour of a moment, in the time zone of the reports';
comment on function reporting.today      is 'The current day, in the time zone of the reports';

-- Indexes are rebuilt one by one and outside of a transaction, so that callbacks are accepted meanwhile.
create table stale_day_indexes (
  name text primary key
);
comment on table stale_day_indexes is 'Indexes on days of a previous time zone of the reports; the service rebuilds them when it starts';

--------------------------------------------------------------------------------------------------------- Deliveries

create table deliveries (
  id               uuid        primary key,
  event            text        not null,
  family           text        not null,
  client_id        text        not null,
  business_id      text        not null,
  event_time       timestamptz not null,
  envelope         jsonb       not null,
  status           text        not null default 'received' check (status in ('received', 'applied', 'failed')),
  error            text,
  delivery_count   integer     not null default 1,
  received_at      timestamptz not null default now(),
  last_received_at timestamptz not null default now(),
  applied_at       timestamptz
);
comment on table  deliveries                is 'Every acknowledged callback, once';
comment on column deliveries.id             is 'Derived from the event time and the content, so that a resend has the same id';
comment on column deliveries.envelope       is 'The callback as received';
comment on column deliveries.status         is 'received: not applied to its table yet; applied: in its table; failed: its data caused an error, see error';
comment on column deliveries.delivery_count is 'How often it was received';

-- Finds pending deliveries without reading applied ones.
create index deliveries_to_do on deliveries (status, received_at) where status <> 'applied';

-- A delivery enters this index once, when it is applied: a second entry for its previous status would double the
-- cost. The index contains every column that delivery_health and silence read, so that these need no access to
-- the table for vacuumed pages; the setting makes autovacuum run often enough.
create index deliveries_of_business on deliveries (business_id, reporting.day(received_at), family)
  include (received_at, event_time, applied_at, delivery_count)
  where status = 'applied';
alter table deliveries set (autovacuum_vacuum_insert_scale_factor = 0.01);

-- Deliveries are stored nearly in the order of arrival: a few bytes per 128 pages suffice to find a day.
-- A single range of values, because several (multi) slow down inserts.
create index deliveries_times on deliveries using brin (reporting.day(received_at), applied_at);

create function reporting.receipt_id(envelope jsonb) returns bigint
  language sql immutable strict parallel safe
  return (envelope #> '{data,receipt_id}')::bigint;
comment on function reporting.receipt_id is 'The receipt id of a callback of the receipt family';

----------------------------------------------------------------------------------------------------------- Families

-- A table for each family: the documented fields under their own names, and the common columns.

create table receipts (
  business_id                text        not null,
  receipt_id                 bigint      not null,
  aid                        text,
  doctor_oid                 text,
  clinic_id                  text,
  patient_oid                text,
  created_at                 timestamptz,
  updated_at                 timestamptz,
  receipt_number             text,
  receipt_url                text,
  receipt_status             text,
  receipt_amount             numeric,
  additional_discount_value  numeric,
  additional_discount_type   text,
  additional_discount_amount numeric,
  net_amount                 numeric,
  name                       text,
  mobile                     text,
  flavour                    text,
  sku_discount_amount        numeric,
  amount_due                 numeric,
  archive                    bigint,
  remarks                    text,
  ref_trx_id                 text,
  payment_id                 text,
  payment_link               text,
  amount_paid                numeric,
  actor                      text,
  client_id                  text        not null,
  last_event                 text        not null,
  event_time                 timestamptz not null,
  deleted_at                 timestamptz,
  extra                      jsonb       not null,
  delivery_id                uuid        not null,
  primary key (business_id, receipt_id)
);
comment on table  receipts             is 'The newest version of each receipt; a deleted one keeps its row, with deleted_at';
comment on column receipts.extra       is 'Fields that the interface does not document';
comment on column receipts.delivery_id is 'The delivery that this row was written from';

create index receipts_day on receipts (business_id, reporting.day(coalesce(created_at, event_time)));

-- Every version of each receipt, parsed when it is applied: parsing thousands in a report would take too long.
-- A column that a later migration adds to receipts is added here by db/reporting.
create table receipt_versions (
  like receipts including comments,
  received_at timestamptz not null,
  applied_at  timestamptz not null,
  -- The number is first because it is compared faster than the text.
  primary key (receipt_id, business_id, delivery_id)
);
comment on table  receipt_versions             is 'Every version of each receipt; read it through reporting.receipt_history';
comment on column receipt_versions.delivery_id is 'The delivery that contained this version';
comment on column receipt_versions.received_at is 'When that delivery was first received';
comment on column receipt_versions.applied_at  is 'When it was applied';

-- applied_at is for receipts_as_of: PostgreSQL 18 can use it with a skip scan over the days.
create index receipt_versions_day on receipt_versions (business_id, reporting.day(received_at), applied_at);
-- Versions are stored in the order in which they were applied.
create index receipt_versions_applied on receipt_versions using brin (applied_at);

-- Versions are copies of deliveries' data, so they are deleted with them.
create function forget_versions() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    truncate public.receipt_versions;
  else
    -- A delivery that was never applied may have no valid receipt id.
    delete from public.receipt_versions v
    using deleted d
    where d.family = 'receipt' and d.applied_at is not null and v.receipt_id = reporting.receipt_id(d.envelope)
      and v.business_id = d.business_id and v.delivery_id = d.id;
  end if;
  return null;
end
$$;
create trigger forget_versions after delete on deliveries
  referencing old table as deleted for each statement execute function forget_versions();
create trigger forget_all_versions after truncate on deliveries
  for each statement execute function forget_versions();

create table consent_forms (
  business_id text        not null,
  id          text        not null,
  docid       text,
  owner       text,
  patientid   text,
  sendurlpdf  text,
  url         text,
  client_id   text        not null,
  last_event  text        not null,
  event_time  timestamptz not null,
  deleted_at  timestamptz,
  extra       jsonb       not null,
  delivery_id uuid        not null,
  primary key (business_id, id)
);
comment on table  consent_forms             is 'The newest version of each consent form (medical certificate)';
comment on column consent_forms.id          is 'The form';
comment on column consent_forms.docid       is 'The doctor';
comment on column consent_forms.owner       is 'The business';
comment on column consent_forms.extra       is 'Fields that the interface does not document';
comment on column consent_forms.delivery_id is 'The delivery that this row was written from';

create index consent_forms_day on consent_forms using brin (reporting.day(event_time) date_minmax_multi_ops);

create table review_requests (
  business_id        text        not null,
  doctor_id          text,
  google_review_link text,
  patient_id         text,
  appointment_id     text,
  clinic_id          text,
  client_id          text        not null,
  last_event         text        not null,
  event_time         timestamptz not null,
  deleted_at         timestamptz,
  extra              jsonb       not null,
  delivery_id        uuid        primary key
);
comment on table  review_requests             is 'Each request to ask a patient for a review';
comment on column review_requests.extra       is 'Fields that the interface does not document';
comment on column review_requests.delivery_id is 'The delivery that this row was written from';

create index review_requests_day on review_requests using brin (reporting.day(event_time) date_minmax_multi_ops);

--------------------------------------------------------------------------------------------------------- Quarantine

create table quarantine (
  id               uuid        primary key,
  path             text        not null,
  reason           text        not null,
  errors           jsonb       not null default '[]',
  body             bytea       not null,
  received_at      timestamptz not null default now(),
  last_received_at timestamptz not null default now(),
  count            integer     not null default 1,
  replayed_at      timestamptz,
  acknowledged     boolean     not null default false
);
comment on table  quarantine              is 'Rejected callbacks, once per content';
comment on column quarantine.id           is 'Derived from the path and the body, so that a resend has the same id';
comment on column quarantine.path         is 'The registered path that it was sent to';
comment on column quarantine.reason       is 'Why it was rejected, such as not_json';
comment on column quarantine.errors       is 'The errors, as a list of {path, message}';
comment on column quarantine.body         is 'The bytes as received';
comment on column quarantine.count        is 'How often it was received';
comment on column quarantine.replayed_at  is 'When it was replayed';
comment on column quarantine.acknowledged is 'Whether it was acknowledged with 200 and rejected by PostgreSQL afterwards: the sender does not resend it, so it is never deleted automatically';

-- Beyond the limit, the oldest are deleted first.
create index quarantine_by_age on quarantine (last_received_at);

-- Paths may contain an unguessable part, so no view shows them.
create table callback_paths (
  path   text primary key,
  family text not null
);
comment on table callback_paths is 'The family of each registered path, previous paths included';

------------------------------------------------------------------------------------------------------- Schema drift

create table schema_drift (
  event            text        not null,
  field            text        not null,
  kind             text        not null check (kind in ('unknown', 'missing', 'value', 'other')),
  value            text        not null default '',
  count            bigint      not null,
  first_seen       timestamptz not null,
  last_seen        timestamptz not null,
  example_delivery uuid        not null,
  primary key (event, field, kind, value)
);
comment on table  schema_drift                  is 'Differences between callbacks and the documented interface';
comment on column schema_drift.field            is 'The field, as a JSON pointer into the callback';
comment on column schema_drift.kind             is 'unknown: not documented; missing: documented but absent; value: a new short text; other: all others, beyond the limit of rows per event';
comment on column schema_drift.value            is 'The new value; only for the few fields that contain no personal data';
comment on column schema_drift.count            is 'Number of callbacks; a crash of a receiver may lose the counts of the last seconds';
comment on column schema_drift.example_delivery is 'A delivery with this difference';

-- The number of unknown fields is unlimited. So each event has rows for the first hundred, and one row of kind
-- "other" that counts the rest.
create function record_schema_drift(notes jsonb) returns void
  language plpgsql
as $$
begin
  -- One call at a time, so that no row is added while they are counted.
  perform pg_advisory_xact_lock(hashtext('record_schema_drift'));
  with note as (
    select n.*, s.event is null and n.kind in ('unknown', 'value') as is_new
    from jsonb_to_recordset(notes) as n(event text, field text, kind text, value text, count bigint,
      first_seen timestamptz, last_seen timestamptz, example_delivery uuid)
    left join schema_drift s using (event, field, kind, value)
  ), existing as (
    select event, count(*) as rows from schema_drift where kind in ('unknown', 'value') group by event
  ), placed as (
    select note.*, is_new and coalesce(existing.rows, 0) + row_number() over (
        partition by event, is_new order by first_seen, field, kind, value) > 100 as is_too_many
    from note
    left join existing using (event)
  )
  insert into schema_drift (event, field, kind, value, count, first_seen, last_seen, example_delivery)
  select
    event, case when is_too_many then '' else field end, case when is_too_many then 'other' else kind end,
    case when is_too_many then '' else value end, sum(count), min(first_seen), max(last_seen),
    (array_agg(example_delivery order by last_seen desc))[1]
  from placed
  group by 1, 2, 3, 4
  on conflict (event, field, kind, value) do update set
    count = schema_drift.count + excluded.count,
    first_seen = least(schema_drift.first_seen, excluded.first_seen),
    last_seen = greatest(schema_drift.last_seen, excluded.last_seen),
    example_delivery = excluded.example_delivery;
end
$$;
comment on function record_schema_drift is 'Adds counts to schema_drift, whose number of rows is limited';

-------------------------------------------------------------------------------------------------- The service itself

create table database_identity (
  id uuid not null default gen_random_uuid()
);
create unique index database_identity_one_row on database_identity ((true));
insert into database_identity default values;
comment on table  database_identity    is 'Distinguishes this database from others that share its Redis; a copy of the database has the same id';
comment on column database_identity.id is 'A part of the names of its keys in Redis';

create table saved_grants (
  view        text      not null,
  column_name name,
  privileges  aclitem[] not null
);
comment on table saved_grants is 'Grants on dropped views of the schema reporting, until the views are re-created; empty otherwise';
