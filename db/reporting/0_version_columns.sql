-- The tables of versions have every column of the tables of newest versions, also those that a migration added.
do $$
declare
  missing record;
begin
  for missing in
    select versions, attname as name, format_type(atttypid, atttypmod) as type
    from (values ('receipts'::regclass, 'receipt_versions'::regclass), ('appointments', 'appointment_versions'))
      as pairs (newest, versions)
    join pg_attribute n on n.attrelid = newest and attnum > 0 and not attisdropped
    where not exists (
      select from pg_attribute v
      where v.attrelid = versions and v.attname = n.attname and not v.attisdropped
    )
    order by newest, attnum
  loop
    execute format('alter table %s add column %I %s', missing.versions, missing.name, missing.type);
  end loop;
end
$$;
