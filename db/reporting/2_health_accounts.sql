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

select copy_column_comments('reporting.consent_forms', 'reporting.health_accounts', 'reporting.care_contexts',
                            'reporting.bookings');

comment on column reporting.health_accounts.day                is 'The day of its last event';
comment on column reporting.health_accounts.patient_id         is 'The patient (oid)';
comment on column reporting.health_accounts.partner_patient_id is 'The patient in the partner''s system';
comment on column reporting.health_accounts.abha_address       is 'The address of the account; unique within a business';
comment on column reporting.health_accounts.abha_number        is 'The number of the account';
comment on column reporting.health_accounts.hip_id             is 'The provider of health information (HIP)';
comment on column reporting.health_accounts.hip_code           is 'The counter where the profile was shared';
comment on column reporting.health_accounts.req_id             is 'The request to share the profile';

select copy_column_comments('reporting.health_accounts', 'reporting.care_contexts', 'reporting.bookings');

comment on column reporting.care_contexts.care_context_id is 'The care context; unique within its business';
comment on column reporting.care_contexts.status          is 'LINKED, or another status';
comment on column reporting.care_contexts.retry_count     is 'How often the platform tried again';
comment on column reporting.care_contexts.abha_address    is 'The health account';
comment on column reporting.care_contexts.link_error      is 'Why it could not be linked';

comment on column reporting.bookings.booking_id    is 'The booking (order_id); unique within its business';
comment on column reporting.bookings.state         is 'The state, as the platform names it';
comment on column reporting.bookings.patient_id    is 'The patient (patient.id)';
comment on column reporting.bookings.billing_name  is 'The person who pays';
comment on column reporting.bookings.billing_phone is 'The phone of that person';
comment on column reporting.bookings.slot          is 'The booked time';
comment on column reporting.bookings.doctor        is 'The doctor';
comment on column reporting.bookings.billing       is 'The person who pays: name, phone, email and address';
comment on column reporting.bookings.patient       is 'The patient: id, birth date and gender';
