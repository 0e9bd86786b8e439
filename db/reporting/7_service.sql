-- A database may be restored without its privileges.
revoke execute on function
  log_access, delete_log_entries, release_hold, destroy_withheld, outdate_terms
  from public;

-- What the receiver needs at run time, where another role owns the database and runs `receiver migrate`.
do $$
declare
  tables constant text := quote_ident(current_schema());
begin
  if not exists (select from pg_roles where rolname = 'receiver_service') then
    return;
  end if;
  execute format('grant usage on schema %s, reporting, withheld to receiver_service', tables);
  execute format('grant select, insert, update, delete on all tables in schema %s to receiver_service', tables);
  grant select on all tables in schema reporting to receiver_service;
  -- Written once.
  revoke update on inbox from receiver_service;
  grant update (family) on inbox to receiver_service; -- by a replay of unknown events
  revoke insert, update, delete on access_log from receiver_service;
  revoke insert, update, truncate on patient_pseudonyms from receiver_service;
  revoke delete on erased, patient_holds from receiver_service;
  revoke update, delete on erasures from receiver_service;
  grant update (counts, searched, destroy_after, destroyed_at) on erasures to receiver_service;
  revoke insert, update, delete
    on receiver_migrations, database_identity, erasure_salt, saved_grants, stale_day_indexes from receiver_service;
  grant update (token, previous_token) on database_identity to receiver_service;
  -- Not their content.
  revoke select, update, delete on withheld.records from receiver_service;
  grant insert, select (erasure_id, patients, destroy_at) on withheld.records to receiver_service;
  grant execute on function log_access, delete_log_entries, release_hold, destroy_withheld to receiver_service;
end
$$;
