-- What of a report is public is decided here alone: of these views the numbers, times and ids of deliveries, and these texts.
-- A new view, or a new column of another type or name, is personal until it is listed.
create or replace function reporting.public_columns()
returns table (view name, column_name name, for_console boolean, for_masked boolean) language sql stable as $$
  select relname, attname,
    -- A person is behind it, whom other data may name.
    attname <> 'patient_id',
    -- They may quote what nobody documented.
    attname <> all('{error,field,value}')
  from pg_class c join pg_attribute on attrelid = c.oid
  where relnamespace = 'reporting'::regnamespace and attnum > 0 and not attisdropped
    and relname in (
      'all_receipts', 'receipts', 'deleted_receipts', 'outstanding_receipts', 'outstanding_by_phone', 'receipt_history', 'receipt_statements', 'receipts_daily',
      'consent_forms', 'review_requests', 'doctors_daily', 'clinics_daily', 'businesses_daily', 
      'appointments', 'schedule', 'appointments_daily', 'prescriptions',
      'payment_requests', 'practice_changes', 'notices', 'health_accounts', 'care_contexts', 'bookings',
      'admissions', 'open_admissions', 'admission_events', 'admission_clearances', 'admission_estimates',
      'deliveries', 'deliveries_daily', 'quarantine', 'schema_drift', 'other_events', 'silence', 'outages', 'aliases',
      'duplicate_receipts'
    )
    and (
      atttypid in (
        'boolean'::regtype, 'integer'::regtype, 'bigint'::regtype, 'numeric'::regtype, 'date'::regtype,
        'timestamptz'::regtype, 'interval'::regtype, 'uuid'::regtype
      )
      or atttypid = 'text'::regtype and attname in (
        'business_id', 'client_id', 'clinic_id', 'doctor_id', 'owner', 'patient_id', 'form_id',
        'aid', 'appointment_id', 'prescription_id', 'partner_clinic_id', 'partner_doctor_id', 'actor_id', 'facility_id',
        'admission_id', 'event_id', 'clearance_id', 'estimate_id', 'service_id',
        'hip_id', 'hip_code', 'req_id', 'care_context_id', 'retry_count', 'booking_id',
        'family', 'event', 'last_event', 'status', 'actor', 'additional_discount_type', 'reason', 'kind',
        'type', 'state', 'action', 'stage', 'clearance_type', 'open_clearance_types',
        'source', 'error', 'field', 'value', 'receipt_number'
      )
    )
$$;
comment on function reporting.public_columns is 'The columns of the reports without personal data: for whom the console hides that, and for reporting_masked';

do $$
declare
  readable record;
begin
  if not exists (select from pg_roles where rolname = 'reporting_masked') then
    return;
  end if;
  grant usage on schema reporting to reporting_masked;
  for readable in
    select format('reporting.%I', view) as view, string_agg(quote_ident(column_name), ', ') as columns
    from reporting.public_columns() where for_masked
    group by view
  loop
    execute format('revoke all on %s from reporting_masked', readable.view);
    execute format('grant select (%s) on %s to reporting_masked', readable.columns, readable.view);
  end loop;
end
$$;
