-- A callback takes nothing away: each field of a row has the value of the greatest version whose data has it.

do $do$
declare
  one text;
begin
  foreach one in array array[
    'receipts', 'receipt_versions', 'consent_forms', 'appointments', 'appointment_versions', 'prescriptions', 'admissions',
    'admission_events', 'admission_clearances', 'admission_estimates', 'health_accounts', 'care_contexts', 'bookings'
  ] loop
    execute format('alter table %I add column carried jsonb', one);
    execute format('comment on column %I.carried is %L', one,
      'What the delivery of this row did not say: "lacks", the fields; "from", by the key of an older version, the fields that '
      'have its value ("+" before those of extra); "of", the delivery. Null: nothing');
  end loop;
  foreach one in array array['receipts', 'receipt_versions', 'appointments', 'appointment_versions'] loop
    execute format('alter table %I add column first_event_time timestamptz', one);
    execute format('comment on column %I.first_event_time is %L', one,
      'The earliest event time of its versions, where none has said when it was created; null: event_time');
  end loop;
end
$do$;

create function said_time(value jsonb, event_time timestamptz) returns timestamptz
  language sql stable parallel safe
  return case
    when jsonb_typeof(value) = 'string' and btrim(value #>> '{}', E' \t\n\r') = '' then null
    when callback_time(value) >= '2000-01-01T00:00Z' and callback_time(value) - interval '1 day' <= event_time then callback_time(value)
  end;
comment on function said_time is 'When something was done to a record, as its callback says; null: 0, an empty text, what lies before 2000, and what lies more than a day after the event itself, say nothing';

-- The column carried of what a delivery says. fields: in order, those that its data may have under their own names; lacks: others that it lacks.
create function carried_of(delivery uuid, data jsonb, fields text[], lacks text[], nulls_say_nothing boolean) returns jsonb
  language plpgsql immutable parallel safe
as $$
declare
  missing text[];
begin
  lacks := array_remove(lacks, null);
  missing := lacks || array(
    select field from unnest(fields) as field where not data ? field or nulls_say_nothing and data->field = 'null');
  if missing = '{}' then
    return null;
  elsif lacks <> '{}' then
    missing := array(select name from unnest(missing) as name order by name collate "C");
  end if;
  return jsonb_build_object('of', delivery, 'lacks', missing);
end
$$;

create function without_nulls(value jsonb) returns jsonb
  language sql immutable parallel safe
  return (select coalesce(jsonb_object_agg(key, field), '{}') from jsonb_each(value) as fields(key, field) where field <> 'null');

-- Whether an object has every key of another.
create function has_keys_of(one jsonb, other jsonb) returns boolean
  language plpgsql immutable parallel safe
as $$
begin
  return other = '{}' or one ?& array(select jsonb_object_keys(other));
end
$$;

-- Not inlined: to_char is stable, because a template may name a month in words.
create function version_key(event_time timestamptz, changed_at timestamptz, class integer, rank integer, delivery_id uuid) returns text
  language plpgsql immutable parallel safe
as $$
begin
  return to_char(event_time at time zone 'UTC', 'YYYYMMDDHH24MISS')
    || case
         when changed_at = 'infinity' then ' ~ '
         when changed_at = '-infinity' then ' - '
         else to_char(changed_at at time zone 'UTC', ' YYYYMMDDHH24MISS ')
       end
    || class
    || case when isfinite(changed_at) then to_char(changed_at at time zone 'UTC', ' US ') else ' ' end
    || to_char(event_time at time zone 'UTC', 'US ') || to_char(rank, 'FM00 ') || delivery_id;
end
$$;
comment on function version_key is 'The place of a version in the order of its record, as a text that sorts like it: second of the event, second of the change, class, change, event, rank, delivery';

-- Which fields of a row have the value of an older version, each with the key of that.
create function sources_of(carried jsonb) returns jsonb
  language sql immutable parallel safe
  return (
    select coalesce(jsonb_object_agg(field, key), '{}')
    from jsonb_each(carried->'from') as versions(key, fields), jsonb_array_elements_text(fields) as field
  );

-- kept: the fields that have the value of the older one of two rows. carried, extra: those of the row that both make.
create type compared_fields as (is_older boolean, kept jsonb, carried jsonb, extra jsonb);

-- Compares two rows of one record, field by field. is_older: the other one is older.
create function compare_each_field(
  one_carried jsonb, one_extra jsonb, one_key text, other_carried jsonb, other_extra jsonb, other_key text
) returns compared_fields
  language plpgsql immutable parallel safe set search_path from current
as $$
declare
  newer     jsonb := other_carried;
  older     jsonb := one_carried;
  newer_extra jsonb := other_extra;
  older_extra jsonb := one_extra;
  newer_key text  := other_key;
  older_key text  := one_key;
  newer_from jsonb;
  older_from jsonb;
  from_versions jsonb;
  result    compared_fields;
begin
  result.is_older := other_key < one_key collate "C";
  if result.is_older then
    newer := one_carried;
    older := other_carried;
    newer_extra := one_extra;
    older_extra := other_extra;
    newer_key := one_key;
    older_key := other_key;
  end if;
  -- A worker of a former version has written the row since.
  if newer->>'of' <> right(newer_key, 36) then
    newer := null;
  end if;
  if older->>'of' <> right(older_key, 36) then
    older := null;
  end if;

  newer_from := sources_of(newer);
  older_from := sources_of(older);
  with names as (
    select jsonb_object_keys(newer_extra) as name union select jsonb_object_keys(older_extra)
  ), told as (
    select
      field, coalesce(newer_from->>field, '') as newer_source,
      -- The same version again: it lacked the field then, too.
      case when older->'lacks' ? field or older_key = newer_key then coalesce(older_from->>field, '') else older_key end as older_source
    from jsonb_array_elements_text(newer->'lacks') as field
    union all
    select
      '+' || name, case when newer_extra ? name then coalesce(newer_from->>('+' || name), newer_key) else '' end,
      case when older_extra ? name then coalesce(older_from->>('+' || name), case when older_key = newer_key then '' else older_key end) else '' end
    from names
  ), compared as (
    select field, older_source collate "C" > newer_source as is_older, greatest(older_source collate "C", newer_source) as source
    from told
  )
  select
    (select coalesce(jsonb_agg(field), '[]') from compared c where c.is_older),
    (
      select jsonb_object_agg(source, fields)
      from (select source, jsonb_agg(field order by field collate "C") as fields from compared where source not in ('', newer_key) group by source) v
    ),
    (
      select coalesce(jsonb_object_agg(
        substr(field, 2), case when c.is_older then older_extra else newer_extra end -> substr(field, 2)), '{}')
      from compared c where field like '+%' and source <> ''
    )
  into result.kept, from_versions, result.extra;
  result.carried := nullif(
    jsonb_strip_nulls(jsonb_build_object('of', right(newer_key, 36), 'lacks', newer->'lacks', 'from', from_versions)),
    jsonb_build_object('of', right(newer_key, 36)));
  return result;
end
$$;

-- The same, where nearly always the other row is the newer one. Called within the schema.
create function compare_fields(
  one_carried jsonb, one_extra jsonb, one_key text, other_carried jsonb, other_extra jsonb, other_key text
) returns compared_fields
  language plpgsql immutable parallel safe
as $$
declare
  lacks   jsonb   := coalesce(other_carried->'lacks', '[]');
  has_all boolean := one_extra = '{}' or other_extra ?& array(select jsonb_object_keys(one_extra));
  result  compared_fields;
  wanted  jsonb   := lacks;
  known   jsonb   := coalesce(one_carried->'lacks', '[]');
  version record;
  own     text[];
  sources jsonb   := '{}';
begin
  if one_key collate "C" >= other_key or one_carried->>'of' <> right(one_key, 36) or other_carried ? 'from' then
    return compare_each_field(one_carried, one_extra, one_key, other_carried, other_extra, other_key);
  end if;
  result.is_older := false;
  result.kept := lacks;
  result.extra := case when has_all then other_extra else one_extra || other_extra end;
  if has_all and lacks = '[]' then
    return result;
  end if;
  if not has_all then
    wanted := lacks || to_jsonb(array(select '+' || name from jsonb_object_keys(one_extra) as name where not other_extra ? name));
  end if;
  if one_carried ? 'from' then
    for version in select key, fields from jsonb_each(one_carried->'from') as versions(key, fields) loop
      known := known || version.fields;
      if not wanted @> version.fields then
        version.fields := (
          select coalesce(jsonb_agg(field), '[]') from jsonb_array_elements_text(version.fields) as field where wanted ? field);
      end if;
      if version.fields <> '[]' then
        sources := sources || jsonb_build_object(version.key, version.fields);
      end if;
    end loop;
  end if;
  -- What the older row's own delivery said.
  if not known @> wanted then
    own := array(select field from jsonb_array_elements_text(wanted) as field where not known ? field order by field collate "C");
    sources := sources || jsonb_build_object(one_key, own);
  end if;
  result.carried := case
    when sources <> '{}' then jsonb_build_object('of', right(other_key, 36)) || coalesce(other_carried, '{}') || jsonb_build_object('from', sources)
    else other_carried
  end;
  return result;
end
$$;

-- The row that two rows of one record make: as JSON, with version_key. It does not matter which is the newer one, nor how many
-- versions made them.
create function fold_rows(one jsonb, other jsonb) returns jsonb
  language plpgsql immutable strict parallel safe set search_path from current
as $$
declare
  compared compared_fields;
  newer    jsonb := other;
  older    jsonb := one;
  folded   jsonb;
begin
  compared := compare_fields(
    nullif(one->'carried', 'null'), one->'extra', one->>'version_key', nullif(other->'carried', 'null'), other->'extra', other->>'version_key');
  if compared.is_older then
    newer := one;
    older := other;
  end if;
  folded := older || (newer - array(select jsonb_array_elements_text(compared.kept)))
    || jsonb_build_object('carried', compared.carried, 'extra', compared.extra);
  if folded ? 'first_event_time' then
    folded := folded || jsonb_build_object('first_event_time', case
      when folded->>'created_at' is null then nullif(
        least(
          coalesce(one->>'first_event_time', one->>'event_time')::timestamptz,
          coalesce(other->>'first_event_time', other->>'event_time')::timestamptz),
        (newer->>'event_time')::timestamptz)
      end);
  end if;
  return folded;
end
$$;

-- Whether another row of the same record changes a row, in these columns.
create function is_changed_by(one jsonb, other jsonb, columns text[]) returns boolean
  language plpgsql immutable parallel safe set search_path from current
as $$
declare
  folded jsonb := fold_rows(one, other);
begin
  return exists (select from unnest(columns) as name where folded->name is distinct from one->name);
end
$$;

create aggregate fold_rows(jsonb) (sfunc = fold_rows, stype = jsonb, parallel = safe);

-- What the delivery of a row itself said. Where a worker of a former version has written the row since, all of it.
create function unfolded(folded jsonb) returns jsonb
  language sql immutable parallel safe
  return case
    when folded->'carried'->>'of' = folded->>'delivery_id' then folded
      || coalesce((select jsonb_object_agg(field, null::text) from jsonb_array_elements_text(folded->'carried'->'lacks') as field), '{}')
      || jsonb_build_object(
        'carried', case when folded->'carried' ? 'lacks' then (folded->'carried') - 'from' end,
        'extra', (folded->'extra') - array(
          select substr(field, 2) from jsonb_object_keys(sources_of(folded->'carried')) as field where field like '+%'
        ))
    else folded || '{"carried": null}'
  end || case when folded ? 'first_event_time' then '{"first_event_time": null}' else '{}' end::jsonb;
comment on function unfolded is 'A row as JSON without what older versions gave it';

-- A row as JSON without the values of some versions.
create function without_versions(folded jsonb, deliveries uuid[]) returns jsonb
  language sql immutable parallel safe
  return (
    select folded
      || coalesce((select jsonb_object_agg(field, null::text) from unnest(fields) as field where field not like '+%'), '{}')
      || jsonb_build_object(
        'extra', (folded->'extra') - array(select substr(field, 2) from unnest(fields) as field where field like '+%'),
        'carried', case
          when folded->'carried' ? 'lacks' or kept <> '{}' then (folded->'carried') - 'from' || case when kept <> '{}' then jsonb_build_object('from', kept) else '{}' end
        end)
    from (
      select
        array(select jsonb_array_elements_text(value) from jsonb_each(folded->'carried'->'from') where right(key, 36)::uuid = any(deliveries)) as fields,
        (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(folded->'carried'->'from') where right(key, 36)::uuid <> all(deliveries)) as kept
    ) versions
  );

-- Whether a field's value is of an older version than that of one of the others.
create function is_older_than(carried jsonb, field text, variadic others text[]) returns boolean
  language sql immutable parallel safe
  return (
    select source is not null and exists (
      select from unnest(others) as one
      where not carried->'lacks' ? one
        or exists (select from jsonb_each(carried->'from') as v(key, fields) where fields ? one and key collate "C" > source)
    )
    from (select (select key collate "C" from jsonb_each(carried->'from') as v(key, fields) where fields ? field) as source) own
  );
comment on function is_older_than is 'Whether a field of a row is from an older version than one of the other fields, so that a total may not be the sum of its parts';

-- A receipt's row keeps what came; reports compute a total one of whose parts was told later.
create function net_of(
  carried jsonb, net_amount numeric, receipt_amount numeric, sku_discount_amount numeric, additional_discount_amount numeric
) returns numeric
  language sql immutable parallel safe
  return case
    when carried->'lacks' ? 'net_amount' and is_older_than(carried, 'net_amount', 'receipt_amount', 'sku_discount_amount', 'additional_discount_amount')
    then coalesce(receipt_amount - coalesce(sku_discount_amount, 0) - coalesce(additional_discount_amount, 0), net_amount)
    else net_amount
  end;
create function due_of(
  carried jsonb, amount_due numeric, amount_paid numeric, net_amount numeric, receipt_amount numeric, sku_discount_amount numeric,
  additional_discount_amount numeric
) returns numeric
  language sql immutable parallel safe
  return case
    when carried->'lacks' ? 'amount_due'
      and is_older_than(carried, 'amount_due', 'net_amount', 'amount_paid', 'receipt_amount', 'sku_discount_amount', 'additional_discount_amount')
    then coalesce(
      net_of(carried, net_amount, receipt_amount, sku_discount_amount, additional_discount_amount) - coalesce(amount_paid, 0), amount_due)
    else amount_due
  end;
comment on function net_of is 'What is to be paid of a receipt: net_amount, unless a part of it was told by a newer version';
comment on function due_of is 'What is still due of a receipt: amount_due, unless what is to be paid, or was paid, was told by a newer version';

-- The start of an appointment is that of the newest version which states it, and not of a newer one that kept it.
alter table appointment_starts add column version_key text;
comment on column appointment_starts.version_key is 'The place of the version that states it among those of the appointment';
update appointment_starts
set version_key = version_key(
  event_time, changed_at, case event_rank when 1 then 0 when 2 then 1 else 2 end, greatest(event_rank - 1, 0), delivery_id);
alter table appointment_starts alter column version_key set not null, drop column event_time, drop column changed_at, drop column event_rank;

-- As at the time of this migration; db/reporting/0_version_order.sql replaces it.
create function version_key_of(
  event text, event_time timestamptz, changed_at timestamptz, carried jsonb, delivery_id uuid
) returns text
  language sql immutable parallel safe
  return version_key(event_time, case event when 'receipt.deleted' then coalesce(case when carried->'lacks' ?| array['updated_at', 'modified_at'] then null else changed_at end, 'infinity') when 'appointment.reconciled' then '-infinity' else coalesce(case when carried->'lacks' ?| array['updated_at', 'modified_at'] then null else changed_at end, '-infinity') end, case event when 'receipt.created' then 1 when 'receipt.deleted' then 3 when 'appointment.reconciled' then 0 when 'appointment.created' then 1 else 2 end, case event when 'receipt.created' then 1 when 'receipt.updated' then 2 when 'receipt.deleted' then 3 when 'appointment.created' then 1 when 'appointment.updated' then 2 when 'appointment.statuschange' then 3 when 'appointment.assessments.taken' then 4 else 0 end, delivery_id);

drop function newest_start(text, text, uuid);
create function newest_start(business text, appointment text, delivery uuid default null)
  returns table (business_id text, appointment_id text, starts_at timestamptz, delivery_id uuid, version_key text)
  language sql stable set search_path from current
as $$
  select business, appointment, start_of(v.extra), v.delivery_id, v.version_key
  from (
    select
      extra, delivery_id,
      version_key_of(last_event, event_time, modified_at, carried, delivery_id) as version_key
    from (
      select extra, event_time, delivery_id, last_event, modified_at, carried
      from appointments where business_id = business and appointment_id = appointment
        -- One that an older version has stated is that version's.
        and not coalesce(sources_of(carried) ? '+start_time', false)
      union all
      select extra, event_time, delivery_id, last_event, modified_at, carried
      from appointment_versions where business_id = business and appointment_id = appointment
    ) versions
  ) v
  where states_start(v.extra) and (delivery is null or v.delivery_id = delivery)
  order by v.version_key collate "C" desc
  limit 1
$$;

do $do$
begin
  execute format(
    $$
      create or replace function keep_start() returns trigger language plpgsql
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
        insert into %1$s.appointment_starts as s (business_id, appointment_id, starts_at, delivery_id, version_key)
        select n.business_id, n.appointment_id, n.starts_at, n.delivery_id, n.version_key
        from %1$s.newest_start(changed.business_id, changed.appointment_id,
                               case when tg_op <> 'DELETE' then changed.delivery_id end) n
        on conflict (business_id, appointment_id) do update set
          starts_at = excluded.starts_at, delivery_id = excluded.delivery_id, version_key = excluded.version_key
        where excluded.version_key > s.version_key collate "C";
        return null;
      end
      $body$
    $$,
    quote_ident(current_schema()));
end
$do$;
comment on function newest_start is 'When an appointment begins, by the newest of its versions that states it, or by that of one delivery';

-- The day of a record that nobody has said when it was created: that of its earliest event.
do $do$
declare
  one regproc;
begin
  foreach one in array array['outdate_days_of_receipts', 'outdate_days_of_appointments', 'outdate_day_of_version']::regproc[] loop
    execute replace(pg_get_functiondef(one), 'coalesce(created_at, event_time)', 'coalesce(created_at, first_event_time, event_time)');
  end loop;
end
$do$;
