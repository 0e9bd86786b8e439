-- Roles belong to the whole server: the receiver of another database may have created one, or be creating it now.
do $$
declare
  one record;
begin
  for one in
    select name, about
    from (values
      ('reporting_reader', 'May read the reports (schema reporting) and nothing else'),
      ('reporting_masked', 'May read the reports (schema reporting) without names, phone numbers, links and free text')
    ) as roles (name, about)
    where name not in (select rolname from pg_roles)
  loop
    begin
      execute format('create role %I nologin', one.name);
      execute format('comment on role %I is %L', one.name, one.about);
    exception
      when insufficient_privilege then
        raise notice 'The role % is left out: this user may not create roles.', one.name;
      when duplicate_object or unique_violation then
        null;
    end;
  end loop;
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
