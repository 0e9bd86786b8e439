-- What neither another role, nor a setting, nor a fault of the server may undo.

--------------------------------------------------------------------------------------------------------- Erasures stay

-- All writes of the gate: a hash stays, and its `until` only grows, with the erasure that it comes from. Where there are hashes
-- already, the latest `until` wins, so it may be repeated in any order. -infinity: a record that has reduced callbacks; infinity: a
-- record, or a delivery, for ever. The caller has the lock of `receiver.erased`, see receiver/gate/gate.ts.
create function receiver.gate(hash text, until timestamptz, erasure uuid) returns boolean
  language sql security definer set search_path = pg_catalog
  begin atomic
    insert into receiver.erased as e (hash, until, erasure) values ($1, $2, $3)
    on conflict (hash) do update set until = excluded.until, erasure = excluded.erasure where e.until < excluded.until
    returning true;
  end;
comment on function receiver.gate is 'Adds a hash to receiver.erased, or raises its until: the only way to change it; null: it has that until already';

create function receiver.adopt_salt(salt text) returns boolean
  language sql security definer set search_path = pg_catalog
  begin atomic
    update receiver.settings set value = $1
    where name = 'salt' and (value = $1 or not exists (
      select from receiver.erased union all select from receiver.holds
      union all select from public.access_log where subjects <> '{}'
    ))
    returning true;
  end;
comment on function receiver.adopt_salt is 'Takes the salt of a database whose hashes are brought here; null: this one has hashes of its own, and keeps its salt';

-- The owner is above these policies. Others have no policy to change a hash; inserts lock the table for share, which takes the
-- right to update it.
alter table receiver.erased enable row level security;
create policy read_erased on receiver.erased for select using (true);
create policy add_erased on receiver.erased for insert with check (true);

alter table receiver.settings enable row level security;
create policy read_settings on receiver.settings for select using (true);
create policy add_settings on receiver.settings for insert with check (name not in ('salt', 'identity'));
create policy change_settings on receiver.settings for update using (name not in ('salt', 'identity'));
create policy drop_settings on receiver.settings for delete using (name not in ('salt', 'identity'));

-------------------------------------------------------------------------------------------------------- Nobody else's

create function receiver.other_grants() 
  returns table (kind text, made oid, name text, grantee text, privilege text, is_ours boolean)
  language sql stable set search_path = pg_catalog
  begin atomic
    select distinct o.kind, o.made, o.name, coalesce(quote_ident(rolname), 'public'), lower(privilege_type),
           o.name !~ '^public' or o.name ~ '^public\.(access_log|access_log_entry_seq|deliveries|quarantine)$'
             or exists (select from pg_attribute where attrelid = o.made and attname = 'last_event')
    from (
      select 'table' as kind, oid as made, oid::regclass::text as name, relacl as acl, relowner as owner
      from pg_class where relnamespace::regnamespace::text in ('public', 'receiver', 'reporting') and relkind in ('r', 'v', 'S')
      union all
      select 'routine', oid, oid::regprocedure::text, proacl, proowner
      from pg_proc where pronamespace::regnamespace::text in ('receiver', 'reporting')
      union all
      select 'schema', oid, nspname, nspacl, nspowner from pg_namespace where nspname in ('receiver', 'reporting')
    ) o
    cross join aclexplode(acl) g left join pg_roles r on r.oid = g.grantee
    -- Everybody may run functions, but for those that are revoked.
    where g.grantee <> owner and (g.grantee <> 0 or o.kind <> 'routine')
      and coalesce(rolname, '') <> all(array['receiver_service', 'reporting_reader', 'reporting_masked']);
  end;
comment on function receiver.other_grants is 'Rights of others than the owner and the roles of db/roles.sql; is_ours: on what the receiver has made';

create function receiver.revoke_from_others() returns void language plpgsql set search_path = pg_catalog as $$
declare
  one record;
begin
  for one in
    select distinct format('revoke all on %s %s from %s', kind, name, grantee) as statement
    from receiver.other_grants() where made <> all(current_setting('receiver.former')::oid[])
  loop
    execute one.statement;
  end loop;
end
$$;
comment on function receiver.revoke_from_others is 'Takes from others what default privileges gave them on what was made since db/lock.sql: rights that somebody grants later stay';

----------------------------------------------------------------------------------------------- What a server may lack

create function receiver.system_identifier() returns bigint language plpgsql stable set search_path = pg_catalog as $$
begin
  return (select system_identifier from pg_control_system());
exception
  when insufficient_privilege then return null;
end
$$;
comment on function receiver.system_identifier is 'Of the server; null: the right to read it was revoked';

revoke all on function receiver.gate, receiver.adopt_salt from public;
