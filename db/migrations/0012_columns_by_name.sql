-- Functions that name the columns of tables, so that a column of somebody else stays out of them. Those that copy versions are
-- in db/reporting/0_version_columns.sql.

create or replace function forget_deliveries() returns trigger language plpgsql set search_path from current as $$
begin
  if tg_op = 'TRUNCATE' then
    truncate pending_deliveries, failed_deliveries, applied_deliveries, resends, receipt_versions, appointment_versions;
    return null;
  end if;
  -- Only of those that were applied: another may have no valid id.
  with applied as materialized (
    select d.id, d.family, d.business_id, d.envelope from deleted d
    where d.family in ('receipt', 'appointment') and (
      exists (select from applied_deliveries a where a.id = d.id)
      or exists (select from failed_deliveries f where f.id = d.id and f.applied_at is not null)
    )
  ), receipts as (
    delete from receipt_versions v
    using applied d
    where d.family = 'receipt' and v.receipt_id = reporting.receipt_id(d.envelope)
      and v.business_id = d.business_id and v.delivery_id = d.id
  )
  delete from appointment_versions v
  using applied d
  where d.family = 'appointment' and v.appointment_id = thing_of(d.family, d.envelope)
    and v.business_id = d.business_id and v.delivery_id = d.id;
  delete from pending_deliveries p using deleted d where p.id = d.id;
  delete from failed_deliveries f using deleted d where f.id = d.id;
  delete from applied_deliveries a using deleted d where a.id = d.id;
  delete from resends r using deleted d where r.id = d.id;
  return null;
end
$$;

create or replace function log_access(
  actor text, actor_name text, address text, action text, patient_ids text[], keeps_ids boolean, filter jsonb, rows bigint
) returns bigint
  language plpgsql
as $$
declare
  last_entry bigint;
  last_hash  bytea;
  moment     timestamptz;
  seen       bytea[];
  new_hash   bytea;
begin
  with pseudonyms as (
    select distinct patient_hash((select salt from erasure_salt), '', id) as pseudonym, id from unnest(patient_ids) as id
  ), added as (
    insert into patient_pseudonyms (pseudonym, patient_id)
    select pseudonym, id from pseudonyms where keeps_ids order by pseudonym on conflict do nothing
  )
  select coalesce(array_agg(pseudonym order by pseudonym), '{}') into seen from pseudonyms;
  -- One entry at a time: the lock is held until the transaction ends.
  update access_log_head h set entry = h.entry + 1 returning h.entry, h.hash into strict last_entry, last_hash;
  moment := clock_timestamp();
  new_hash := access_log_hash(
    last_hash, last_entry, moment, actor, actor_name, address, action, seen, filter, rows);
  insert into access_log (entry, at, actor, actor_name, address, action, patients, filter, rows, previous, hash)
  values (last_entry, moment, actor, actor_name, address, action, seen, filter, rows, last_hash, new_hash);
  update access_log_head set hash = new_hash;
  return last_entry;
end
$$;

alter table database_identity add column token uuid not null default gen_random_uuid();
comment on column database_identity.token is 'The last one that was registered in Redis: a copy that is older than a moment has an older one';
