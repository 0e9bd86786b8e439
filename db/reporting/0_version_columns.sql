-- The columns of the tables with versions. A column of somebody else on one of them takes part in nothing.
create or replace function version_columns(newest text) returns text
  language sql immutable
  return case newest
    when 'receipts' then
      'business_id, receipt_id, aid, doctor_oid, clinic_id, patient_oid, created_at, updated_at, receipt_number, receipt_url, '
      'receipt_status, receipt_amount, additional_discount_value, additional_discount_type, additional_discount_amount, '
      'net_amount, name, mobile, flavour, sku_discount_amount, amount_due, archive, remarks, ref_trx_id, payment_id, '
      'payment_link, amount_paid, actor, client_id, last_event, event_time, deleted_at, extra, delivery_id, carried, '
      'first_event_time, received_at, applied_at'
    when 'appointments' then
      'business_id, appointment_id, partner_appointment_id, doctor_id, partner_doctor_id, patient_id, partner_patient_id, '
      'clinic_id, partner_clinic_id, status, action, created_at, modified_at, custom_attributes, partner_meta, sa_ids, '
      'workflow_data, prev_aids, next_aid, client_id, last_event, event_time, deleted_at, extra, delivery_id, carried, '
      'first_event_time, received_at, applied_at'
  end;
comment on function version_columns is 'The columns of a table that has a table of versions: those that make a version';

-- The tables of versions have every one of these columns, also those that a migration added; a trigger copies them when a
-- newer version replaces a row.
do $do$
declare
  pair    record;
  missing record;
begin
  for pair in
    select newest, versions, keeper, version_columns(newest) as columns
    from (values
      ('receipts', 'receipt_versions', 'keep_superseded_receipt'),
      ('appointments', 'appointment_versions', 'keep_superseded_appointment')
    ) as pairs (newest, versions, keeper)
  loop
    for missing in
      select attname as name, format_type(atttypid, atttypmod) as type
      from pg_attribute n
      where attrelid = pair.newest::regclass and attname = any(string_to_array(pair.columns, ', ')) and not exists (
        select from pg_attribute v where v.attrelid = pair.versions::regclass and v.attname = n.attname
      )
      order by attnum
    loop
      execute format('alter table %s add column %I %s', pair.versions, missing.name, missing.type);
    end loop;
    execute format(
      $$
        create or replace function %1$s() returns trigger language plpgsql set search_path from current as $body$
        declare
          -- A worker of a former version has written the row since: it says nothing of it.
          own   constant jsonb := case when old.carried->>'of' = old.delivery_id::text then old.carried end;
          lacks constant jsonb := own->'lacks';
        begin
          -- What its delivery itself said.
          old.extra := case
            when own ? 'from' then old.extra - array(
              select substr(field, 2)
              from jsonb_each(own->'from') as versions(key, fields), jsonb_array_elements_text(fields) as field
              where field like '+%%')
            else old.extra end;
          old.carried := case when lacks is not null then own - 'from' end;
          old.first_event_time := null;
          insert into %2$s (%3$s)
          values (%4$s)
          on conflict do nothing;
          return null;
        end
        $body$
      $$,
      pair.keeper, pair.versions, pair.columns,
      regexp_replace(pair.columns, '\w+', $$case when lacks ? '\&' then null else old.\& end$$, 'g'));
  end loop;
end
$do$;
