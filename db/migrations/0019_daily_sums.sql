-- Sums of the daily views, so that a year takes as long as a week. What keeps them right is in docs/reports.md.

create table outdated_days (
  sums        text not null check (sums in ('activities', 'appointments')),
  business_id text not null,
  day         date not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
-- No key: two writers of one day do not wait for each other.
alter table outdated_days replica identity full;
comment on table  outdated_days      is 'Days whose rows have changed since their sums were made: a trigger adds a row with each change, in its transaction';
comment on column outdated_days.sums is 'Which sums, see kept_activities and kept_appointments';
comment on column outdated_days.day  is '-infinity: every day of the business';

create table sums_definitions (
  sums       text primary key,
  definition text not null
);
comment on table sums_definitions is 'A digest of what the kept sums were made with: after a change, all of them are made again';

create table wrong_sums (
  sums        text        not null,
  business_id text        not null,
  day         date        not null,
  found_at    timestamptz not null default now(),
  primary key (sums, business_id, day)
);
comment on table wrong_sums is 'Days whose kept sums differed from their rows when the worker checked them. They were made again; how they came about is not known';

create table kept_activities (
  business_id        text    not null,
  clinic_id          text,
  doctor_id          text,
  day                date    not null,
  receipts           bigint  not null,
  gross_amount       numeric not null,
  discount_amount    numeric not null,
  net_amount         numeric not null,
  paid_amount        numeric not null,
  due_amount         numeric not null,
  deleted_receipts   bigint  not null,
  deleted_net_amount numeric not null,
  consent_forms      bigint  not null,
  review_requests    bigint  not null
);
create index kept_activities_day on kept_activities (business_id, day);
alter table kept_activities replica identity full;
comment on table kept_activities is 'Sums of receipts, consent forms and review requests; valid where outdated_days does not name the day. Read them through activity_sums';

create table kept_appointments (
  business_id      text   not null,
  clinic_id        text,
  doctor_id        text,
  day              date   not null,
  status           text,
  appointments     bigint not null,
  completion_times interval[]
);
create index kept_appointments_day on kept_appointments (business_id, day);
alter table kept_appointments replica identity full;
comment on table kept_appointments is 'Numbers of appointments by status as received, and the times from booking to completion; valid where outdated_days does not name the day. Read them through appointment_sums';

create aggregate concatenate(interval[]) (sfunc = array_cat, stype = interval[]);

-- Statement triggers: they cost an apply of a hundred deliveries as much as an apply of one, and see writes of former
-- versions and of others too, whatever their rights.
do $do$
declare
  source record;
  event  text;
  tables constant text := quote_ident(current_schema());
begin
  for source in
    select name, sums, day from (values
      ('receipts',        'activities',   'reporting.day(coalesce(created_at, event_time))'),
      ('erased_receipts', 'activities',   'day'),
      ('consent_forms',   'activities',   'reporting.day(event_time)'),
      ('review_requests', 'activities',   'reporting.day(event_time)'),
      ('appointments',    'appointments', 'reporting.day(coalesce(created_at, event_time))')
    ) as sources (name, sums, day)
  loop
    execute format(
      $$
        create function outdate_days_of_%1$s() returns trigger language plpgsql
          security definer set search_path = pg_catalog, pg_temp as $body$
        begin
          case tg_op
            when 'INSERT' then
              insert into %4$s.outdated_days select distinct %2$L, business_id, %3$s from inserted;
            when 'UPDATE' then
              insert into %4$s.outdated_days
              select %2$L, business_id, %3$s from inserted union select %2$L, business_id, %3$s from deleted;
            when 'DELETE' then
              insert into %4$s.outdated_days select distinct %2$L, business_id, %3$s from deleted;
            else
              insert into %4$s.outdated_days select distinct %2$L, business_id, date '-infinity' from %4$s.kept_%2$s;
          end case;
          return null;
        end
        $body$
      $$,
      source.name, source.sums, source.day, tables);
    execute format('revoke execute on function outdate_days_of_%I from public', source.name);
    for event in select unnest(array['insert', 'update', 'delete', 'truncate']) loop
      execute format(
        'create trigger outdate_days_%s after %s on %I %s for each statement execute function outdate_days_of_%I()',
        event, event, source.name,
        case event
          when 'insert' then 'referencing new table as inserted'
          when 'update' then 'referencing new table as inserted old table as deleted'
          when 'delete' then 'referencing old table as deleted'
          else ''
        end,
        source.name);
    end loop;
  end loop;

  -- The time of completion is that of the first version with such a status, which may be a superseded one.
  execute format(
    $$
      create function outdate_day_of_version() returns trigger language plpgsql
        security definer set search_path = pg_catalog, pg_temp as $body$
      declare
        version %1$s.appointment_versions := coalesce(new, old);
      begin
        if tg_op = 'TRUNCATE' then
          insert into %1$s.outdated_days
          select distinct 'appointments', business_id, date '-infinity' from %1$s.kept_appointments;
        elsif reporting.appointment_state(version.status) like 'completed%%' then
          insert into %1$s.outdated_days
          select 'appointments', business_id, reporting.day(coalesce(created_at, event_time))
          from %1$s.appointments a
          where a.business_id = version.business_id and a.appointment_id = version.appointment_id;
        end if;
        return null;
      end
      $body$
    $$,
    tables);
  revoke execute on function outdate_day_of_version from public;
  create trigger outdate_day_of_version after insert or delete on appointment_versions
    for each row execute function outdate_day_of_version();
  create trigger outdate_day_truncate after truncate on appointment_versions
    for each statement execute function outdate_day_of_version();
end
$do$;

-- Jumps from one business to the next in an index (a loose index scan), where there is one.
create function businesses_with(kind_of_sums text) returns setof text
  language plpgsql stable set search_path from current
as $$
declare
  source text;
begin
  for source in
    select unnest(case kind_of_sums
      when 'activities' then array['receipts', 'erased_receipts', 'consent_forms', 'review_requests', 'kept_activities']
      else array['appointments', 'kept_appointments']
    end)
  loop
    return query execute format(
      'with recursive found as (
         (select business_id from %1$I order by business_id limit 1)
         union all
         select (select t.business_id from %1$I t where t.business_id > found.business_id order by t.business_id limit 1)
         from found where found.business_id is not null
       )
       select business_id from found where business_id is not null',
      source);
  end loop;
end
$$;
comment on function businesses_with is 'The businesses with rows or kept sums; some of them several times';

create function outdate_all(outdated text) returns void
  language sql set search_path from current
as $$
  insert into outdated_days select distinct outdated, business_id, date '-infinity' from businesses_with(outdated) as business_id
$$;
comment on function outdate_all is 'Makes all sums of a kind outdated; the worker makes them again';

-- A writer that computed a day in the former zone has ended before the new one counts.
create or replace function reporting.write_zone(zone text) returns void
  language plpgsql set search_path from current
as $$
begin
  lock table receipts, erased_receipts, consent_forms, review_requests, appointments in share mode;
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
  perform outdate_all('activities');
  perform outdate_all('appointments');
end
$$;

select outdate_all('activities'), outdate_all('appointments');
