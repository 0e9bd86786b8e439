-- Appointments, prescriptions and messages, when doctors practise, health accounts (ABHA) and bookings.

-- The platform's codes are written here alone. Others may come.
create or replace function reporting.appointment_state(status text) returns text
  language sql immutable parallel safe
  return case
    when status in ('BK', 'CK', 'RV', 'IN', 'PA') then 'booked' -- checked in, reserved, initiated, parked
    when status = 'OG' then 'ongoing'
    when status = 'CM' then 'completed'
    when status = 'CMNP' then 'completed_without_prescription'
    when status = 'AB' then 'aborted'
    when status in ('NS', 'NSD', 'NSS') then 'no_show' -- by the doctor, by staff
    when status in ('CN', 'PC') then 'cancelled_by_patient' -- provisionally
    when status = 'CND' then 'cancelled_by_doctor'
    when status = 'CNS' then 'cancelled_by_staff'
    when status = 'PNR' then 'cancelled_unpaid'
    when status in ('RE', 'RED', 'RES') then 'rescheduled' -- by the API, the doctor, staff
    else 'other'
  end;

-- Two parts, as of receipts. Callbacks are looked up only if completed_at is selected.
create or replace view reporting.appointments as
select business_id, appointment_id, reporting.day(booked_at) as day, booked_at,
       case when reporting.appointment_state(status) like 'completed%' then (
         select case when i.event <> 'appointment.reconciled' then coalesce(receiver.time_of(d.data->'modified_at'), i.event_time) end
         from receiver.inbox i cross join lateral (select coalesce(i.data, i.envelope->'data') as data) d
         where i.business_id = a.business_id and i.family = 'appointment' and i.record_id = a.appointment_id
           and reporting.appointment_state(d.data->>'status') like 'completed%'
         order by i.version limit 1
       ) end as completed_at,
       modified_at, status, reporting.appointment_state(status) as state, clinic_id, doctor_id, patient_id, partner_appointment_id,
       partner_clinic_id, partner_doctor_id, partner_patient_id, action, client_id, last_event, event_time, delivery_id,
       (select i.received_at from receiver.inbox i where i.id = a.delivery_id) as received_at, custom_attributes, workflow_data,
       partner_meta, nullif(start_time, 'epoch') as starts_at
from (
  select *, created_at as booked_at from public.appointments where created_at is not null
  union all
  select *, (
    select min(i.event_time) from receiver.inbox i
    where i.business_id = a.business_id and i.family = 'appointment' and i.record_id = a.appointment_id
  )
  from public.appointments a where created_at is null
) a
where deleted_at is null;

-- An appointment that another one replaces does not take place. Names and phones are on the patient's receipts; they are looked up
-- only if they are selected, and after a limit.
create or replace view reporting.schedule as
select a.business_id, a.appointment_id, reporting.day(a.starts_at) as day, a.starts_at, a.status, a.state, a.clinic_id, a.doctor_id,
       a.patient_id, a.booked_at, a.partner_appointment_id, a.partner_clinic_id, a.partner_doctor_id, a.partner_patient_id,
       a.client_id, a.delivery_id, (
         select r.name from reporting.receipts r
         where r.business_id = a.business_id and r.patient_id = a.patient_id and r.name <> ''
         order by r.issued_at desc, r.receipt_id desc limit 1
       ) as patient_name, (
         select r.mobile from reporting.receipts r
         where r.business_id = a.business_id and r.patient_id = a.patient_id and r.mobile <> ''
         order by r.issued_at desc, r.receipt_id desc limit 1
       ) as mobile
from reporting.appointments a
where a.starts_at is not null and a.state <> 'rescheduled';

create or replace view reporting.appointments_daily as
select business_id, clinic_id, doctor_id, day, appointments, booked, ongoing, completed, completed_without_prescription, cancelled,
       cancelled_by_patient, cancelled_by_doctor, cancelled_by_staff, no_show, aborted, rescheduled, other,
       round(completed::numeric / nullif(appointments - rescheduled, 0), 4) as completed_share,
       round(cancelled::numeric / nullif(appointments - rescheduled, 0), 4) as cancelled_share,
       round(no_show::numeric / nullif(appointments - rescheduled, 0), 4) as no_show_share,
       round(rescheduled::numeric / appointments, 4) as rescheduled_share,
       round(completed_without_prescription::numeric / nullif(completed, 0), 4) as without_prescription_share,
       round(extract(epoch from completion_average) / 3600, 2) as completion_average_hours,
       round(extract(epoch from completion_median) / 3600, 2) as completion_median_hours
from (
  select business_id, clinic_id, doctor_id, day, count(*) as appointments,
         count(*) filter (where state = 'booked') as booked, count(*) filter (where state = 'ongoing') as ongoing,
         count(*) filter (where state like 'completed%') as completed,
         count(*) filter (where state = 'completed_without_prescription') as completed_without_prescription,
         count(*) filter (where state like 'cancelled%') as cancelled,
         count(*) filter (where state = 'cancelled_by_patient') as cancelled_by_patient,
         count(*) filter (where state = 'cancelled_by_doctor') as cancelled_by_doctor,
         count(*) filter (where state = 'cancelled_by_staff') as cancelled_by_staff,
         count(*) filter (where state = 'no_show') as no_show, count(*) filter (where state = 'aborted') as aborted,
         count(*) filter (where state = 'rescheduled') as rescheduled, count(*) filter (where state = 'other') as other,
         avg(completed_at - booked_at) as completion_average,
         percentile_cont(0.5) within group (order by completed_at - booked_at) as completion_median
  from reporting.appointments
  group by business_id, clinic_id, doctor_id, day
) counted;

create or replace view reporting.prescriptions as
select business_id, prescription_id, reporting.day(event_time) as day, coalesce(created_at, event_time) as prescribed_at, modified_at,
       action, clinic_id, doctor_id, patient_id, partner_appointment_id, partner_clinic_id, partner_doctor_id, partner_patient_id,
       current_version, previous_version, prescription_url as pdf_url, prescription_url_print as print_pdf_url, client_id, last_event,
       event_time, delivery_id, partner_meta
from public.prescriptions
where deleted_at is null;

create or replace view reporting.practice_changes as
select business_id, delivery_id, reporting.day(event_time) as day, event_time, last_event as event, clinic_id, doctor_id,
       partner_clinic_id, partner_doctor_id, created_at, modified_at, client_id
from public.practice_changes
where deleted_at is null;

create or replace view reporting.notices as
select business_id, delivery_id, reporting.day(event_time) as day, event_time, last_event as event, appointment_id, clinic_id,
       doctor_id, patient_id, coalesce(doc_name, doctor_name) as doctor_name, patient_name, prescription_id,
       prescription_url as pdf_url, actor_oid as actor_id, booking_link, due_date, vaccines, client_id
from public.notices
where deleted_at is null;

create or replace view reporting.health_accounts as
select business_id, reporting.day(event_time) as day, event_time, oid as patient_id, partner_patient_id, abha_address, abha_number,
       hip_id, hip_code, req_id, client_id, last_event, delivery_id
from public.health_accounts
where deleted_at is null;

create or replace view reporting.care_contexts as
select business_id, care_context_id, reporting.day(event_time) as day, event_time, status, retry_count, oid as patient_id,
       partner_patient_id, abha_address, hip_id, error as link_error, client_id, last_event, delivery_id
from public.care_contexts
where deleted_at is null;

create or replace view reporting.bookings as
select business_id, order_id as booking_id, reporting.day(event_time) as day, event_time, state, patient->>'id' as patient_id,
       billing->>'name' as billing_name, billing->>'phone' as billing_phone, slot, doctor, billing, patient, client_id, last_event,
       delivery_id
from public.bookings
where deleted_at is null;

comment on function reporting.appointment_state is 'The meaning of a status of an appointment: BK, CK, RV, IN and PA booked (it waits, also at the clinic); OG ongoing; CM completed, CMNP completed_without_prescription; AB aborted; NS, NSD and NSS no_show; CN and PC cancelled_by_patient, CND cancelled_by_doctor, CNS cancelled_by_staff, PNR cancelled_unpaid; RE, RED and RES rescheduled; other: any other status';

comment on view reporting.appointments       is 'The newest version of each appointment';
comment on view reporting.schedule           is 'Appointments by the time at which they begin, past and to come, without rescheduled ones. Only those whose start is known: callbacks need not tell it, the reconciliation does';
comment on view reporting.appointments_daily is 'Appointments booked on a day, for each business, clinic and doctor: how many, what became of them, and how long that took';
comment on view reporting.prescriptions      is 'The newest version of each prescription';
comment on view reporting.practice_changes   is 'Doctors who started or stopped practising, or became available';
comment on view reporting.notices            is 'Messages to patients (reminders, prescriptions), and doctors who joined a consultation';
comment on view reporting.health_accounts    is 'The newest version of each health account (ABHA), with its patient';
comment on view reporting.care_contexts      is 'The newest version of each care context: the health records of a visit, linked to a health account';
comment on view reporting.bookings           is 'The newest version of each booking through a network for health services';
