-- The functions of triggers run in the sessions of others too. They use the schema of the tables, whatever its name is.
create or replace function delete_delivery() returns trigger language plpgsql set search_path from current as $$
begin
  delete from inbox where id = old.id;
  return old;
end
$$;

create or replace function keep_superseded_receipt() returns trigger language plpgsql set search_path from current as $$
begin
  insert into receipt_versions select old.* on conflict do nothing;
  return null;
end
$$;

create or replace function keep_superseded_appointment() returns trigger language plpgsql set search_path from current as $$
begin
  insert into appointment_versions select old.* on conflict do nothing;
  return null;
end
$$;

create or replace function forget_deliveries() returns trigger language plpgsql set search_path from current as $$
begin
  if tg_op = 'TRUNCATE' then
    truncate pending_deliveries, failed_deliveries, applied_deliveries, resends, receipt_versions, appointment_versions;
    return null;
  end if;
  -- Only of those that were applied: another may have no valid id.
  with applied as materialized (
    select d.* from deleted d
    where family in ('receipt', 'appointment') and (
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

comment on column receiver_migrations.checksum is 'SHA-256 of the text; null: not known';
