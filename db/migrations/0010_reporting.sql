create schema if not exists reporting;
comment on schema reporting is 'Views for reports: plain names, each explained';

-- Days and hours are those of one time zone. It is written into functions rather than kept in a table,
-- because an index can be built on a function that reads nothing, and because the planner then puts the
-- function's text in the place of its call: a condition on a view's day reaches the index. The functions are
-- immutable as long as nobody but set_timezone replaces them: it builds anew what was built on them.
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
    -- Local midnight, as hours of some zones begin half past those of UTC.
    to_char((timestamp '2000-01-01' at time zone zone) at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS"+00"'));
end
$$;

select reporting.write_zone('Asia/Kolkata');

create index receipts_day on receipts (business_id, reporting.day(coalesce(created_at, event_time)));
create index consent_forms_day on consent_forms using brin (reporting.day(event_time) date_minmax_multi_ops);
create index review_requests_day on review_requests using brin (reporting.day(event_time) date_minmax_multi_ops);

create function reporting.receipt_id(envelope jsonb) returns bigint
  language sql immutable strict parallel safe
  return (envelope #> '{data,receipt_id}')::bigint;

-- A delivery enters these two when it is applied, once: an entry for its former state as well would double
-- what they cost. The first holds all that delivery_health and silence read, so that these need not touch the
-- callbacks themselves, as long as vacuum has been there; the setting lets it come often enough. The second
-- begins with the number, which is compared faster than the text.
create index deliveries_of_business on deliveries (business_id, reporting.day(received_at), family)
  include (received_at, event_time, applied_at, delivery_count)
  where status = 'applied';
create index deliveries_of_receipt on deliveries (reporting.receipt_id(envelope), business_id)
  where family = 'receipt' and status = 'applied';
alter table deliveries set (autovacuum_vacuum_insert_scale_factor = 0.01);

-- Deliveries lie in the order of their arrival, or nearly so, where one fills the room that vacuum has made:
-- a few bytes for each 128 pages tell where a day is. One range of values, for several (multi) cost the intake.
create index deliveries_times on deliveries using brin (reporting.day(received_at), applied_at);

-- The planner does not use what it knows of the expressions of a partial index.
create statistics deliveries_receipt on (reporting.receipt_id(envelope)) from deliveries;

-- The planner knows how days are spread only once they have been counted.
analyze deliveries, receipts, consent_forms, review_requests;

create function reporting.set_timezone(zone text) returns boolean
  language plpgsql
as $$
begin
  -- Two processes that start at once wait for each other.
  perform pg_advisory_xact_lock(hashtext('reporting.set_timezone'));
  if zone = reporting.timezone() then
    return false;
  end if;
  perform reporting.write_zone(zone);
  reindex index public.receipts_day;
  reindex index public.consent_forms_day;
  reindex index public.review_requests_day;
  reindex index public.deliveries_of_business;
  reindex index public.deliveries_times;
  analyze public.receipts, public.consent_forms, public.review_requests, public.deliveries;
  return true;
end
$$;

revoke execute on function reporting.write_zone, reporting.set_timezone from public;

-- The paths may hold an unguessable part, so no view shows them.
create table callback_paths (
  path   text primary key,
  family text not null
);

comment on table callback_paths is 'Which family a registered path belongs to, former paths included';
comment on function reporting.timezone     is 'The time zone of days and hours (REPORT_TIMEZONE)';
comment on function reporting.set_timezone is 'Changes the time zone of days and hours and builds the indexes on them anew; returns whether it differed';
comment on function reporting.write_zone   is 'Writes the functions that hold the time zone; a part of set_timezone';
comment on function reporting.day          is 'The day of a moment, in the time zone of the reports';
comment on function reporting.hour         is 'The beginning of the hour of a moment, in the time zone of the reports';
comment on function reporting.today        is 'The present day, in the time zone of the reports';
comment on function reporting.receipt_id   is 'The receipt that a callback of the receipt family is about';
