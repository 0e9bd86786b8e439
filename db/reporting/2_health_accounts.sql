-- Health accounts (ABHA), what is linked to them, and bookings through a network for health services.

create or replace view reporting.health_accounts as
select
  business_id, reporting.day(event_time) as day, event_time, oid as patient_id, partner_patient_id, abha_address, abha_number,
  hip_id, hip_code, req_id, client_id, last_event, delivery_id
from health_accounts
where deleted_at is null;

create or replace view reporting.care_contexts as
select
  business_id, care_context_id, reporting.day(event_time) as day, event_time, status, retry_count, oid as patient_id,
  partner_patient_id, abha_address, hip_id, error as link_error, client_id, last_event, delivery_id
from care_contexts
where deleted_at is null;

create or replace view reporting.bookings as
select
  business_id, order_id as booking_id, reporting.day(event_time) as day, event_time, state, patient ->> 'id' as patient_id,
  billing ->> 'name' as billing_name, billing ->> 'phone' as billing_phone, slot, doctor, billing, patient, client_id,
  last_event, delivery_id
from bookings
where deleted_at is null;

comment on view reporting.health_accounts is 'The newest version of each health account (ABHA), with its patient';
comment on view reporting.care_contexts   is 'The newest version of each care context: the health records of a visit, linked to a health account';
comment on view reporting.bookings        is 'The newest version of each booking through a network for health services';
