-- When appointments begin. The read API tells it, so the versions that the reconciliation makes have it, and other versions may lack
-- it: the newest that states it counts.

-- A text without an offset, or such as "tomorrow", depends on who reads it.
create function start_of(extra jsonb) returns timestamptz
  language plpgsql stable parallel safe set search_path from current
as $$
declare
  stated jsonb := extra->'start_time';
  said   text  := stated #>> '{}';
  at     timestamptz;
begin
  if said ~ '^\d{1,15}(\.\d{1,9})?$' then
    at := service_time(nullif(said::numeric, 0));
  elsif jsonb_typeof(stated) = 'string' and said ~* '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)? ?(Z|[+-]\d\d(:?\d\d)?)$' then
    at := said::timestamptz;
  end if;
  return case when at < '10000-01-01T00:00Z' then at end;
exception
  when data_exception then
    return null;
end
$$;
comment on function start_of is 'When an appointment begins, by start_time among its fields that are not documented for callbacks: seconds, milliseconds above 1e11, or ISO 8601 with an offset; null: it cannot be read';

create function states_start(extra jsonb) returns boolean
  language sql immutable parallel safe
  return extra->'start_time' <> all(array['null', '""', '0', '[]', '{}']::jsonb[]);
comment on function states_start is 'Whether a version says when the appointment begins: what is empty says nothing';

create table appointment_starts (
  business_id    text        not null,
  appointment_id text        not null,
  starts_at      timestamptz,
  event_time     timestamptz not null,
  changed_at     timestamptz not null,
  event_rank     integer     not null,
  delivery_id    uuid        not null,
  primary key (business_id, appointment_id)
);
create index appointment_starts_day on appointment_starts (reporting.day(starts_at)) where starts_at is not null;
create index appointment_starts_order on appointment_starts (starts_at, business_id, appointment_id) where starts_at is not null;
comment on table  appointment_starts            is 'When appointments begin, by the newest version that states it. Triggers write it';
comment on column appointment_starts.starts_at  is 'When it begins; null: what the version states cannot be read';
comment on column appointment_starts.event_time is 'This, changed_at, event_rank and delivery_id are the place of the version among those of the appointment';

create function newest_start(business text, appointment text, delivery uuid default null) returns setof appointment_starts
  language sql stable set search_path from current
as $$
  select business, appointment, start_of(v.extra), v.event_time, v.changed_at, v.event_rank, v.delivery_id
  from (
    select
      extra, event_time, delivery_id,
      case when last_event = 'appointment.reconciled' then '-infinity' else coalesce(modified_at, '-infinity') end as changed_at,
      coalesce(array_position(array[
        'appointment.reconciled', 'appointment.created', 'appointment.updated', 'appointment.statuschange',
        'appointment.assessments.taken'
      ], last_event), 0) as event_rank
    from (
      select extra, event_time, delivery_id, last_event, modified_at
      from appointments where business_id = business and appointment_id = appointment
      union all
      select extra, event_time, delivery_id, last_event, modified_at
      from appointment_versions where business_id = business and appointment_id = appointment
    ) versions
  ) v
  where states_start(v.extra) and (delivery is null or v.delivery_id = delivery)
  order by v.event_time desc, v.changed_at desc, v.event_rank desc, v.delivery_id desc
  limit 1
$$;
comment on function newest_start is 'When an appointment begins, by the newest of its versions that states it, or by that of one delivery';

-- For each row with a start only, so that other rows cost nothing. With the rights of the owner, as the triggers of sums. A
-- deleted version takes its start along where that counts. A version is compared with what is kept, and never with others that
-- another transaction may be deleting.
do $do$
declare
  source record;
  tables constant text := quote_ident(current_schema());
begin
  execute format(
    $$
      create function keep_start() returns trigger language plpgsql
        security definer set search_path = pg_catalog, pg_temp as $body$
      declare
        changed record;
      begin
        if tg_op = 'TRUNCATE' then
          delete from %1$s.appointment_starts;
          return null;
        elsif tg_op = 'DELETE' then
          changed := old;
          delete from %1$s.appointment_starts s
          where s.business_id = old.business_id and s.appointment_id = old.appointment_id and s.delivery_id = old.delivery_id;
          if not found then
            return null;
          end if;
        else
          changed := new;
        end if;
        insert into %1$s.appointment_starts as s
          (business_id, appointment_id, starts_at, event_time, changed_at, event_rank, delivery_id)
        select n.business_id, n.appointment_id, n.starts_at, n.event_time, n.changed_at, n.event_rank, n.delivery_id
        from %1$s.newest_start(changed.business_id, changed.appointment_id,
                               case when tg_op <> 'DELETE' then changed.delivery_id end) n
        on conflict (business_id, appointment_id) do update set
          starts_at = excluded.starts_at, event_time = excluded.event_time, changed_at = excluded.changed_at,
          event_rank = excluded.event_rank, delivery_id = excluded.delivery_id
        where (excluded.event_time, excluded.changed_at, excluded.event_rank, excluded.delivery_id)
            > (s.event_time, s.changed_at, s.event_rank, s.delivery_id);
        return null;
      end
      $body$
    $$,
    tables);
  revoke execute on function keep_start from public;
  for source in select unnest(array['appointments', 'appointment_versions']) as name loop
    execute format(
      'create trigger keep_start after insert or update on %I for each row when (states_start(new.extra)) execute function keep_start()',
      source.name);
    execute format(
      'create trigger forget_start after delete on %I for each row when (states_start(old.extra)) execute function keep_start()',
      source.name);
  end loop;
  create trigger forget_starts after truncate on appointments
    for each statement execute function keep_start();
end
$do$;
