-- What the service needs at run time, where another role owns the database and runs `receiver migrate`.
do $$
declare
  tables constant text := quote_ident(current_schema());
begin
  if not exists (select from pg_roles where rolname = 'receiver_service') then
    return;
  end if;
  execute format('grant usage on schema %s, reporting, withheld to receiver_service', tables);
  execute format('grant select, insert, update, delete on all tables in schema %s to receiver_service', tables);
  grant select, insert, update, delete on withheld.records to receiver_service;
  grant select on all tables in schema reporting to receiver_service;
  -- Written once.
  revoke update on inbox from receiver_service;
  grant update (envelope, patients) on inbox to receiver_service; -- of expired bodies
  revoke update, delete on access_log from receiver_service;
  revoke insert, delete on access_log_head from receiver_service;
  revoke insert, update, delete
    on receiver_migrations, database_identity, erasure_salt, saved_grants, stale_day_indexes from receiver_service;
  grant update (token) on database_identity to receiver_service;
  grant truncate on patient_pseudonyms to receiver_service;
end
$$;
