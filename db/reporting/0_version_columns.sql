-- The columns that a table and its table of versions have, so that one of somebody else takes part in nothing.
create or replace function version_columns(newest text) returns text
  language sql stable
as $$
  select string_agg(attname, ', ' order by n.attnum)
  from pg_attribute n join pg_attribute v using (attname)
  where n.attrelid = newest::regclass and v.attrelid = (rtrim(newest, 's') || '_versions')::regclass
    and n.attnum > 0 and not n.attisdropped and v.attnum > 0 and not v.attisdropped
$$;
comment on function version_columns is 'The columns of a table that has a table of versions: those that make a version';

-- A trigger copies a row when a newer version replaces it.
do $do$
declare
  pair record;
begin
  for pair in
    select versions, keeper, version_columns(newest) as columns
    from (values
      ('receipts', 'receipt_versions', 'keep_superseded_receipt'),
      ('appointments', 'appointment_versions', 'keep_superseded_appointment')
    ) as pairs (newest, versions, keeper)
  loop
    execute format(
      $$
        create or replace function %1$s() returns trigger language plpgsql set search_path from current as $body$
        declare
          -- A worker of a former version has written the row since: it says nothing of it.
          own   constant jsonb := case when old.carried->>'of' = old.delivery_id::text then old.carried end;
          lacks constant jsonb := own->'lacks';
        begin
          -- What its delivery itself said.
          old.extra := case
            when own ? 'from' then old.extra - array(
              select substr(field, 2)
              from jsonb_each(own->'from') as versions(key, fields), jsonb_array_elements_text(fields) as field
              where field like '+%%')
            else old.extra end;
          old.carried := case when lacks is not null then own - 'from' end;
          old.first_event_time := null;
          insert into %2$s (%3$s)
          values (%4$s)
          on conflict do nothing;
          return null;
        end
        $body$
      $$,
      pair.keeper, pair.versions, pair.columns,
      regexp_replace(pair.columns, '\w+', $$case when lacks ? '\&' then null else old.\& end$$, 'g'));
  end loop;
end
$do$;
