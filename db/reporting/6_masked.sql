do $$
begin
  if not exists (select from pg_roles where rolname = 'reporting_masked') then
    create role reporting_masked nologin;
    comment on role reporting_masked is 'May read the reports (schema reporting) without names, phone numbers, links and free text';
  end if;
exception
  when insufficient_privilege then
    raise notice 'The role reporting_masked is left out: this user may not create roles.';
  when duplicate_object or unique_violation then
    null;
end
$$;

-- What it may read is decided here alone: of these views the numbers, times and ids of deliveries, and these texts. A new
-- view, or a new column of another type or name, cannot be read until it is listed.
do $$
declare
  views constant name[] := array[
    'all_receipts', 'receipts', 'deleted_receipts', 'outstanding_receipts', 'outstanding_by_phone', 'receipt_history', 'receipts_daily',
    'consent_forms', 'review_requests', 'activities', 'doctors_daily', 'clinics_daily',
    'appointments', 'appointment_history', 'appointments_daily', 'appointment_payments', 'prescriptions',
    'payment_requests', 'practice_changes', 'notices',
    'admissions', 'open_admissions', 'admission_events', 'admission_clearances', 'admission_estimates',
    'deliveries', 'applied_deliveries', 'delivery_health', 'quarantine', 'schema_drift', 'other_events', 'silence', 'aliases'
  ];
  texts constant name[] := array[
    'business_id', 'client_id', 'clinic_id', 'doctor_id', 'owner', 'patient_id', 'form_id',
    'aid', 'appointment_id', 'prescription_id', 'partner_clinic_id', 'partner_doctor_id', 'actor_id', 'facility_id',
    'admission_id', 'event_id', 'clearance_id', 'estimate_id', 'service_id',
    'family', 'event', 'last_event', 'status', 'actor', 'additional_discount_type', 'reason', 'kind',
    'type', 'state', 'action', 'stage', 'clearance_type', 'open_clearance_types'
  ];
  readable record;
begin
  if not exists (select from pg_roles where rolname = 'reporting_masked') then
    return;
  end if;
  grant usage on schema reporting to reporting_masked;
  for readable in
    select attrelid::regclass as view, string_agg(quote_ident(attname), ', ' order by attnum) as columns
    from pg_class c join pg_attribute on attrelid = c.oid
    where relnamespace = 'reporting'::regnamespace and relname = any(views)
      and attnum > 0 and not attisdropped
      and (attname = any(texts) and atttypid = 'text'::regtype or atttypid in (
        'boolean'::regtype, 'integer'::regtype, 'bigint'::regtype, 'numeric'::regtype, 'date'::regtype,
        'timestamptz'::regtype, 'interval'::regtype, 'uuid'::regtype
      ))
    group by attrelid
  loop
    execute format('revoke all on %s from reporting_masked', readable.view);
    execute format('grant select (%s) on %s to reporting_masked', readable.columns, readable.view);
  end loop;
end
$$;
