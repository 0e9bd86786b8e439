-- Roles belong to the whole server: the receiver of another database may have created this one, or be creating it now.
do $$
begin
  if not exists (select from pg_roles where rolname = 'reporting_reader') then
    create role reporting_reader nologin;
    comment on role reporting_reader is 'May read the reports (schema reporting) and nothing else';
  end if;
exception
  when insufficient_privilege then
    raise notice 'The role reporting_reader is left out: this user may not create roles.';
  when duplicate_object or unique_violation then
    null;
end
$$;

-- A database may be restored without its privileges.
revoke execute on function reporting.write_zone, reporting.write_day from public;

-- Granted once and not after each change of the views: a revoked privilege stays revoked.
do $$
begin
  if exists (select from pg_roles where rolname = 'reporting_reader')
     and not has_schema_privilege('reporting_reader', 'reporting', 'usage') then
    grant usage on schema reporting to reporting_reader;
    grant select on all tables in schema reporting to reporting_reader;
    alter default privileges in schema reporting grant select on tables to reporting_reader;
  end if;
end
$$;
