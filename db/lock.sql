-- The beginning of each transaction that makes tables or views: one at a time, as processes start together. No advisory lock: any
-- login could take it. Of two first starts, one waits for the schema that the other makes.
do $$
begin
  -- What is made after this is new, see receiver.revoke_from_others.
  perform set_config('receiver.former', array(
    select oid from pg_class where relnamespace::regnamespace::text in ('public', 'receiver', 'reporting')
    union all select oid from pg_proc where pronamespace::regnamespace::text in ('receiver', 'reporting')
    union all select oid from pg_namespace
  )::text, true);
  if to_regclass('receiver.settings') is not null then
    lock table receiver.settings in share row exclusive mode;
  else
    create schema if not exists receiver;
    create table if not exists receiver.kysely_migration (name text primary key, timestamp text not null);
  end if;
end
$$;
