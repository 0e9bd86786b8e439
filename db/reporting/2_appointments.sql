-- Appointments and what belongs to them: prescriptions, payments, messages, and when doctors practise.

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

-- Versions are looked up for completed appointments only, and only if completed_at is selected: an aggregate returns one
-- row, so that PostgreSQL can leave the join out.
create or replace view reporting.appointments as
select
  a.business_id, a.appointment_id, reporting.day(coalesce(a.created_at, a.first_event_time, a.event_time)) as day,
  coalesce(a.created_at, a.first_event_time, a.event_time) as booked_at, completion.completed_at, a.modified_at, a.status,
  reporting.appointment_state(a.status) as state, a.clinic_id, a.doctor_id, a.patient_id, a.partner_appointment_id,
  a.partner_clinic_id, a.partner_doctor_id, a.partner_patient_id, a.action, a.client_id, a.last_event, a.event_time,
  a.delivery_id, a.received_at, a.applied_at, a.custom_attributes, a.workflow_data, a.partner_meta, start_of(a.extra) as starts_at
from appointments a
left join lateral (
  select (array_agg(
    case when v.last_event <> 'appointment.reconciled' then coalesce(v.modified_at, v.event_time) end
    order by version_key_of(v.last_event, v.event_time, v.modified_at, null, v.delivery_id) collate "C"
  ))[1] as completed_at
  from (
    select a.status, case when a.carried->'lacks' ? 'modified_at' then null else a.modified_at end as modified_at, a.event_time,
           a.last_event, a.delivery_id
    union all
    select v.status, v.modified_at, v.event_time, v.last_event, v.delivery_id
    from appointment_versions v
    where v.appointment_id = a.appointment_id and v.business_id = a.business_id
  ) v
  where reporting.appointment_state(a.status) like 'completed%'
    and reporting.appointment_state(v.status) like 'completed%'
) completion on true
where a.deleted_at is null;

-- An appointment that another one replaces does not take place. Names and phones are on receipts, which the patient's deliveries
-- lead to; they are looked up only if they are selected.
create or replace view reporting.schedule as
select
  a.business_id, a.appointment_id, reporting.day(start_of(a.extra)) as day, start_of(a.extra) as starts_at, a.status,
  reporting.appointment_state(a.status) as state, a.clinic_id, a.doctor_id, a.patient_id,
  coalesce(a.created_at, a.first_event_time, a.event_time) as booked_at, a.partner_appointment_id, a.partner_clinic_id, a.partner_doctor_id,
  a.partner_patient_id, a.client_id, a.delivery_id, person.patient_name, person.mobile
from appointments a
left join lateral (
  select
    (array_agg(r.name order by coalesce(r.created_at, r.first_event_time, r.event_time) desc, r.receipt_id desc)
      filter (where r.name <> ''))[1] as patient_name,
    (array_agg(r.mobile order by coalesce(r.created_at, r.first_event_time, r.event_time) desc, r.receipt_id desc)
      filter (where r.mobile <> ''))[1] as mobile
  from inbox i
  join receipts r on r.business_id = i.business_id and r.receipt_id = reporting.receipt_id(i.envelope) and r.delivery_id = i.id
  where patient_key(patient_of(i.envelope)) = patient_key(a.patient_id) and patient_of(i.envelope) = a.patient_id
    and i.family = 'receipt' and i.business_id = a.business_id and r.deleted_at is null
) person on true
where a.extra ? 'start_time' and start_of(a.extra) is not null and a.deleted_at is null
  and reporting.appointment_state(a.status) <> 'rescheduled';

create or replace view reporting.appointments_daily as
select
  business_id, clinic_id, doctor_id, day, appointments, booked, ongoing, completed, completed_without_prescription, cancelled,
  cancelled_by_patient, cancelled_by_doctor, cancelled_by_staff, no_show, aborted, rescheduled, other,
  round(completed::numeric / nullif(appointments - rescheduled, 0), 4) as completed_share,
  round(cancelled::numeric / nullif(appointments - rescheduled, 0), 4) as cancelled_share,
  round(no_show::numeric / nullif(appointments - rescheduled, 0), 4) as no_show_share,
  round(rescheduled::numeric / appointments, 4) as rescheduled_share,
  round(completed_without_prescription::numeric / nullif(completed, 0), 4) as without_prescription_share,
  completion_average_hours, completion_median_hours
from (
  select
    business_id, clinic_id, doctor_id, day, count(*) as appointments,
    count(*) filter (where state = 'booked') as booked,
    count(*) filter (where state = 'ongoing') as ongoing,
    count(*) filter (where state like 'completed%') as completed,
    count(*) filter (where state = 'completed_without_prescription') as completed_without_prescription,
    count(*) filter (where state like 'cancelled%') as cancelled,
    count(*) filter (where state = 'cancelled_by_patient') as cancelled_by_patient,
    count(*) filter (where state = 'cancelled_by_doctor') as cancelled_by_doctor,
    count(*) filter (where state = 'cancelled_by_staff') as cancelled_by_staff,
    count(*) filter (where state = 'no_show') as no_show,
    count(*) filter (where state = 'aborted') as aborted,
    count(*) filter (where state = 'rescheduled') as rescheduled,
    count(*) filter (where state = 'other') as other,
    round(extract(epoch from avg(completed_at - booked_at) filter (where isfinite(completed_at) and isfinite(booked_at))) / 3600, 2)
      as completion_average_hours,
    round(extract(epoch from percentile_cont(0.5) within group (order by completed_at - booked_at)
      filter (where isfinite(completed_at) and isfinite(booked_at))) / 3600, 2) as completion_median_hours
  from reporting.appointments
  group by business_id, clinic_id, doctor_id, day
) counted;

create or replace view reporting.prescriptions as
select
  business_id, prescription_id, reporting.day(event_time) as day, coalesce(created_at, event_time) as prescribed_at,
  modified_at, action, clinic_id, doctor_id, patient_id, partner_appointment_id, partner_clinic_id, partner_doctor_id,
  partner_patient_id, current_version, previous_version, prescription_url as pdf_url,
  prescription_url_print as print_pdf_url, client_id, last_event, event_time, delivery_id, partner_meta
from prescriptions
where deleted_at is null;

create or replace view reporting.payment_requests as
select
  business_id, delivery_id, reporting.day(event_time) as day, event_time as requested_at, appointment_id, doctor_id,
  patient_id, net_amount, url as payment_link, client_id
from payment_requests
where deleted_at is null;

create or replace view reporting.practice_changes as
select
  business_id, delivery_id, reporting.day(event_time) as day, event_time, last_event as event, clinic_id, doctor_id,
  partner_clinic_id, partner_doctor_id, created_at, modified_at, client_id
from practice_changes
where deleted_at is null;

create or replace view reporting.notices as
select
  business_id, delivery_id, reporting.day(event_time) as day, event_time, last_event as event, appointment_id, clinic_id,
  doctor_id, patient_id, coalesce(doc_name, doctor_name) as doctor_name, patient_name, prescription_id,
  prescription_url as pdf_url, actor_oid as actor_id, booking_link, due_date, vaccines, client_id
from notices
where deleted_at is null;

comment on function reporting.appointment_state is 'The meaning of a status of an appointment: BK, CK, RV, IN and PA booked (it waits, also at the clinic); OG ongoing; CM completed, CMNP completed_without_prescription; AB aborted; NS, NSD and NSS no_show; CN and PC cancelled_by_patient, CND cancelled_by_doctor, CNS cancelled_by_staff, PNR cancelled_unpaid; RE, RED and RES rescheduled; other: any other status';

comment on view reporting.appointments         is 'The newest version of each appointment';
comment on view reporting.schedule             is 'Appointments by the time at which they begin, past and to come, without rescheduled ones. Only those whose start is known: callbacks need not tell it, the reconciliation does';
comment on view reporting.appointments_daily   is 'Appointments booked on a day, for each business, clinic and doctor: how many, what became of them, and how long that took';
comment on view reporting.prescriptions        is 'The newest version of each prescription';
comment on view reporting.payment_requests     is 'Requests to patients to pay';
comment on view reporting.practice_changes     is 'Doctors who started or stopped practising, or became available';
comment on view reporting.notices              is 'Messages to patients (reminders, prescriptions), and doctors who joined a consultation';
