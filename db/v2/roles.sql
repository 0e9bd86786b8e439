-- Who may what. It runs after the views, in the same transaction, so that rights stay when views are made again.
--
-- owner             the role of DIRECT_DATABASE_URL or DATABASE_URL that runs `receiver migrate`. It owns everything
-- receiver_service  for a login of `receiver start` that owns nothing: stores and merges. An operator makes it:
--                   create role receiver_service nologin; create role receiver login password '…' in role receiver_service
-- reporting_reader  reads the reports, the families' tables and the public views
-- reporting_masked  reads of the reports what is not personal
--
-- Roles belong to the whole server: the receiver of another database may have made one, or be making it now.
do $$
declare
  one record;
begin
  for one in
    select name, about
    from (values
      ('reporting_reader', 'May read the reports (schema reporting), the families'' tables and the public views of the receiver'),
      ('reporting_masked', 'May read of the reports (schema reporting) what is not personal')
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

do $$
declare
  one record;
begin
  if exists (select from pg_roles where rolname = 'reporting_reader') then
    grant usage on schema reporting to reporting_reader;
    for one in
      select unnest({{views}} || {{tables}} || array['public.deliveries', 'public.quarantine']) as name
    loop
      execute format('grant select on %s to reporting_reader', one.name);
    end loop;
  end if;

  -- Numbers, times and ids of deliveries, and texts with the name of a field that its family calls not personal, or of these. A new
  -- column of another type or name is personal until it is listed.
  if exists (select from pg_roles where rolname = 'reporting_masked') then
    grant usage on schema reporting to reporting_masked;
    for one in
      select format('reporting.%I', relname) as view, string_agg(quote_ident(attname), ', ') as columns
      from pg_class c join pg_attribute on attrelid = c.oid and attnum > 0 and not attisdropped
      where relnamespace = 'reporting'::regnamespace and format('reporting.%I', relname) = any({{views}})
        and attname <> all({{personal}})
        and (
          atttypid in (
            'boolean'::regtype, 'integer'::regtype, 'bigint'::regtype, 'numeric'::regtype, 'date'::regtype, 'timestamptz'::regtype,
            'interval'::regtype, 'uuid'::regtype
          )
          or atttypid = 'text'::regtype and attname = any({{not_personal}} || array[
            'business_id', 'client_id', 'form_id', 'event_id', 'clearance_id', 'estimate_id', 'booking_id', 'facility_id', 'actor_id',
            'family', 'event', 'last_event', 'state', 'source', 'reason', 'open_clearance_types'
          ])
        )
      group by relname
    loop
      execute format('revoke all on %s from reporting_masked', one.view);
      execute format('grant select (%s) on %s to reporting_masked', one.columns, one.view);
    end loop;
  end if;

  if exists (select from pg_roles where rolname = 'receiver_service') then
    grant usage on schema receiver, reporting to receiver_service;
    grant select, insert, update, delete on all tables in schema receiver to receiver_service;
    for one in select unnest({{tables}}) as name loop
      execute format('grant select, insert, update, delete on %s to receiver_service', one.name);
    end loop;
    for one in select unnest({{views}} || array['public.deliveries', 'public.quarantine']) as name loop
      execute format('grant select on %s to receiver_service', one.name);
    end loop;
    revoke insert, update, delete on receiver.kysely_migration from receiver_service;
    -- What was erased stays erased, and what was logged stays as it is.
    revoke delete on receiver.erased from receiver_service;
    if to_regclass('receiver.access_log') is not null then
      revoke update, delete on receiver.access_log from receiver_service;
    end if;
  end if;
end
$$;
