-- Who may what. It runs after the views, in their transaction, so that rights stay when views are made again.
--
-- owner             the role of DIRECT_DATABASE_URL or DATABASE_URL that runs `receiver migrate`: everything is its own
-- receiver_service  of a login that only runs `receiver start`: it stores and merges. An operator makes both, and migrates again
-- reporting_reader  reads the reports, the families' tables and the public views
-- reporting_masked  reads of the reports what is not personal

do $$
declare
  one    record;
  shown  constant text[] := {{views}} || array['public.deliveries', 'public.quarantine'];
  tables constant text   := array_to_string({{tables}}, ', ');
begin
  -- Roles belong to the whole server: the receiver of another database may have made one, or be making it now.
  for one in
    select role from unnest(array['reporting_reader', 'reporting_masked']) role where role not in (select rolname from pg_roles)
  loop
    begin
      execute format('create role %I nologin', one.role);
    exception
      when insufficient_privilege then
        raise notice 'The role % is left out: this user may not create roles.', one.role;
      when duplicate_object or unique_violation then
        null;
    end;
  end loop;

  if exists (select from pg_roles where rolname = 'reporting_reader') then
    grant usage on schema reporting to reporting_reader;
    execute format('grant select on %s, %s to reporting_reader', array_to_string(shown, ', '), tables);
  end if;

  if exists (select from pg_roles where rolname = 'reporting_masked') then
    grant usage on schema reporting to reporting_masked;
    for one in
      select format('reporting.%I', relname) as view, string_agg(quote_ident(attname), ', ') as columns
      from pg_class c join pg_attribute on attrelid = c.oid and attnum > 0 and not attisdropped
      where relnamespace = 'reporting'::regnamespace and format('reporting.%I', relname) = any(shown)
        and attname = any({{public_columns}})
      group by relname
    loop
      execute format('revoke all on %s from reporting_masked', one.view);
      execute format('grant select (%s) on %s to reporting_masked', one.columns, one.view);
    end loop;
  end if;

  if exists (select from pg_roles where rolname = 'receiver_service') then
    grant usage on schema receiver, reporting to receiver_service;
    grant select, insert, update, delete on all tables in schema receiver to receiver_service;
    execute format('grant select, insert, update, delete on %s to receiver_service', tables);
    execute format('grant select on %s to receiver_service', array_to_string(shown, ', '));
    -- What was erased stays erased, and what was logged stays as it is. See also the policies of receiver.erased and receiver.settings.
    revoke delete on receiver.erased from receiver_service;
    revoke insert, update, delete on receiver.kysely_migration from receiver_service;
    grant select, insert on public.access_log to receiver_service;
    revoke update on receiver.withheld from receiver_service;
    grant execute on function receiver.trim_access_log, receiver.gate, receiver.adopt_salt to receiver_service;
  end if;
end
$$;
