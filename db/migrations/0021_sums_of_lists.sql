-- The sums of more lists, and sums of whole businesses per day: a year of all businesses is read from a few thousand rows.

alter table kept_activities
  add item_discount_amount    numeric not null default 0,
  add outstanding_receipts    bigint  not null default 0,
  add outstanding_net_amount  numeric not null default 0,
  add outstanding_paid_amount numeric not null default 0,
  add outstanding_due_amount  numeric not null default 0,
  add payment_requests        bigint  not null default 0,
  add requested_amount        numeric not null default 0;

create table kept_activity_days (
  business_id             text    not null,
  day                     date    not null,
  receipts                bigint  not null,
  gross_amount            numeric not null,
  discount_amount         numeric not null,
  net_amount              numeric not null,
  paid_amount             numeric not null,
  due_amount              numeric not null,
  deleted_receipts        bigint  not null,
  deleted_net_amount      numeric not null,
  consent_forms           bigint  not null,
  review_requests         bigint  not null,
  item_discount_amount    numeric not null,
  outstanding_receipts    bigint  not null,
  outstanding_net_amount  numeric not null,
  outstanding_paid_amount numeric not null,
  outstanding_due_amount  numeric not null,
  payment_requests        bigint  not null,
  requested_amount        numeric not null
);
create index kept_activity_days_day on kept_activity_days (business_id, day);
comment on table kept_activity_days is 'Sums of kept_activities over clinics and doctors. Read them through summed_activity_days';

create table kept_appointment_days (
  business_id  text   not null,
  day          date   not null,
  status       text,
  appointments bigint not null
);
create index kept_appointment_days_day on kept_appointment_days (business_id, day);
comment on table kept_appointment_days is 'Sums of kept_appointments over clinics and doctors. Read them through summed_appointment_days';

create table kept_deliveries (
  business_id text   not null,
  family      text   not null,
  day         date   not null,
  deliveries  bigint not null,
  duplicates  bigint not null
);
create index kept_deliveries_day on kept_deliveries (business_id, day);
comment on table kept_deliveries is 'Numbers of applied deliveries by day of arrival, and of their resends; valid where outdated_days does not name the day. Read them through summed_deliveries';

alter table kept_activity_days replica identity full;
alter table kept_appointment_days replica identity full;
alter table kept_deliveries replica identity full;

alter table outdated_days
  drop constraint outdated_days_sums_check,
  add check (sums in ('activities', 'appointments', 'deliveries'));

-- As the triggers of 0019_daily_sums.sql.
do $do$
declare
  source record;
  event  text;
  tables constant text := quote_ident(current_schema());
begin
  for source in
    select name, sums, day from (values
      ('payment_requests',   'activities', 'reporting.day(event_time)'),
      ('applied_deliveries', 'deliveries', 'reporting.day(received_at)')
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

  -- For each row, because nearly no group of callbacks has a resend. From inbox: whoever applies the delivery meanwhile may
  -- not have committed.
  execute format(
    $$
      create function outdate_day_of_resend() returns trigger language plpgsql
        security definer set search_path = pg_catalog, pg_temp as $body$
      begin
        if tg_op = 'TRUNCATE' then
          insert into %1$s.outdated_days
          select distinct 'deliveries', business_id, date '-infinity' from %1$s.kept_deliveries;
        else
          insert into %1$s.outdated_days
          select 'deliveries', business_id, reporting.day(received_at) from %1$s.inbox where id = coalesce(new.id, old.id);
        end if;
        return null;
      end
      $body$
    $$,
    tables);
  revoke execute on function outdate_day_of_resend from public;
  create trigger outdate_day_of_resend after insert or update or delete on resends
    for each row execute function outdate_day_of_resend();
  create trigger outdate_days_truncate after truncate on resends
    for each statement execute function outdate_day_of_resend();
end
$do$;

create or replace function businesses_with(kind_of_sums text) returns setof text
  language plpgsql stable set search_path from current
as $$
declare
  source text;
begin
  for source in
    select unnest(case kind_of_sums
      when 'activities' then
        array['receipts', 'erased_receipts', 'consent_forms', 'review_requests', 'payment_requests', 'kept_activities']
      when 'appointments' then array['appointments', 'kept_appointments']
      else array['applied_deliveries', 'kept_deliveries']
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

-- A writer that computed a day in the former zone has ended before the new one counts.
create or replace function reporting.write_zone(zone text) returns void
  language plpgsql set search_path from current
as $$
begin
  lock table receipts, erased_receipts, consent_forms, review_requests, payment_requests, appointments, applied_deliveries, resends
    in share mode;
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
  perform outdate_all('deliveries');
end
$$;

select outdate_all('deliveries');
