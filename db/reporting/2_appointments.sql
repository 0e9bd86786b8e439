-- Appointments and what belongs to them: prescriptions, payments, messages, and when doctors practise.

-- The platform's codes are written here alone. Others may come.
create or replace function reporting.appointment_state(status text) returns text
  language sql immutable parallel safe
  return case status
    when 'BK'   then 'booked'
    when 'CK'   then 'booked' -- checked in
    when 'RV'   then 'booked' -- reserved
    when 'IN'   then 'booked' -- initiated
    when 'PA'   then 'booked' -- parked
    when 'OG'   then 'ongoing'
    when 'CM'   then 'completed'
    when 'CMNP' then 'completed_without_prescription'
    when 'AB'   then 'aborted'
    when 'NS'   then 'no_show'
    when 'NSD'  then 'no_show' -- by the doctor
    when 'NSS'  then 'no_show' -- by staff
    when 'CN'   then 'cancelled_by_patient'
    when 'PC'   then 'cancelled_by_patient' -- provisionally
    when 'CND'  then 'cancelled_by_doctor'
    when 'CNS'  then 'cancelled_by_staff'
    when 'PNR'  then 'cancelled_unpaid'
    when 'RE'   then 'rescheduled' -- by the API
    when 'RED'  then 'rescheduled' -- by the doctor
    when 'RES'  then 'rescheduled' -- by staff
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
  a.delivery_id, a.received_at, a.applied_at, a.custom_attributes, a.workflow_data, a.partner_meta, s.starts_at
from appointments a
left join appointment_starts s on s.business_id = a.business_id and s.appointment_id = a.appointment_id
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
  a.business_id, a.appointment_id, reporting.day(s.starts_at) as day, s.starts_at, a.status,
  reporting.appointment_state(a.status) as state, a.clinic_id, a.doctor_id, a.patient_id,
  coalesce(a.created_at, a.first_event_time, a.event_time) as booked_at, a.partner_appointment_id, a.partner_clinic_id, a.partner_doctor_id,
  a.partner_patient_id, a.client_id, a.delivery_id,
  (
    select r.name
    from inbox i
    join receipts r
      on r.business_id = i.business_id and r.receipt_id = reporting.receipt_id(i.envelope) and r.delivery_id = i.id
    where patient_key(patient_of(i.envelope)) = patient_key(a.patient_id) and patient_of(i.envelope) = a.patient_id
      and i.family = 'receipt' and i.business_id = a.business_id and r.deleted_at is null and r.name <> ''
    order by coalesce(r.created_at, r.first_event_time, r.event_time) desc, r.receipt_id desc
    limit 1
  ) as patient_name,
  (
    select r.mobile
    from inbox i
    join receipts r
      on r.business_id = i.business_id and r.receipt_id = reporting.receipt_id(i.envelope) and r.delivery_id = i.id
    where patient_key(patient_of(i.envelope)) = patient_key(a.patient_id) and patient_of(i.envelope) = a.patient_id
      and i.family = 'receipt' and i.business_id = a.business_id and r.deleted_at is null and r.mobile <> ''
    order by coalesce(r.created_at, r.first_event_time, r.event_time) desc, r.receipt_id desc
    limit 1
  ) as mobile
from appointment_starts s
join appointments a on a.business_id = s.business_id and a.appointment_id = s.appointment_id
where s.starts_at is not null and a.deleted_at is null and reporting.appointment_state(a.status) <> 'rescheduled';

-- The newest version is in appointments, the others are in appointment_versions, as they came: what one of them lacks, older ones say.
create or replace view reporting.appointment_history as
select
  business_id, appointment_id,
  1 + (
    select count(*)
    from appointment_versions earlier
    where earlier.appointment_id = v.appointment_id and earlier.business_id = v.business_id
      and earlier.delivery_id <> v.delivery_id
      and version_key_of(earlier.last_event, earlier.event_time, earlier.modified_at, earlier.carried, earlier.delivery_id) collate "C"
        < version_key_of(v.last_event, v.event_time, v.modified_at, v.carried, v.delivery_id)
  ) as version,
  last_event as event, reporting.day(received_at) as day, status, reporting.appointment_state(status) as state,
  modified_at, coalesce(created_at, first_event_time, event_time) as booked_at, clinic_id, doctor_id, patient_id, client_id, event_time,
  delivery_id, received_at, applied_at
from (
  select business_id, appointment_id, last_event, received_at, status, modified_at, created_at, first_event_time, event_time, clinic_id,
         doctor_id, patient_id, client_id, delivery_id, applied_at, carried
  from appointments
  union all
  select business_id, appointment_id, last_event, received_at, status, modified_at, created_at, first_event_time, event_time, clinic_id,
         doctor_id, patient_id, client_id, delivery_id, applied_at, carried
  from appointment_versions where carried is null
  union all
  select lean.business_id, lean.appointment_id, lean.last_event, lean.received_at, folded.status, folded.modified_at, folded.created_at,
         folded.first_event_time, lean.event_time, folded.clinic_id, folded.doctor_id, folded.patient_id, lean.client_id,
         lean.delivery_id, lean.applied_at, lean.carried
  from appointment_versions lean
  cross join lateral (
    select fold_rows(to_jsonb(said) || jsonb_build_object('version_key',
      version_key_of(said.last_event, said.event_time, said.modified_at, said.carried, said.delivery_id))) as row
    from (
      select last_event, status, modified_at, created_at, first_event_time, event_time, clinic_id, doctor_id, patient_id, delivery_id,
             carried, extra
      from appointment_versions v where v.appointment_id = lean.appointment_id and v.business_id = lean.business_id
    ) said
    where version_key_of(said.last_event, said.event_time, said.modified_at, said.carried, said.delivery_id) collate "C"
      <= version_key_of(lean.last_event, lean.event_time, lean.modified_at, lean.carried, lean.delivery_id)
  ) known
  cross join lateral jsonb_populate_record(null::appointment_versions, known.row) folded
  where lean.carried is not null
) v;

-- Numbers of appointments by status as received: kept for the days that did not change since they were made, computed for the
-- others, see write_summed_view.
create or replace view live_appointments as
select
  business_id, clinic_id, doctor_id, day, status, count(*) as appointments,
  array_agg(completed_at - booked_at order by completed_at - booked_at) filter (where isfinite(completed_at) and isfinite(booked_at))
    as completion_times
from reporting.appointments
group by business_id, clinic_id, doctor_id, day, status;

select write_live_sums('appointment_days', 'live_appointments', 'day', 'business_id', 'day', 'status');
select write_summed_view('appointments', 'appointments', 'outdated');
select write_summed_view('appointments', 'appointment_days', 'outdated');
select write_live_sums('appointment_months', 'summed_appointment_days', 'month_of(day)', 'business_id', 'day', 'status');
select write_summed_view('appointments', 'appointment_months', 'outdated_months');

create or replace view reporting.appointments_daily as
select
  business_id, clinic_id, doctor_id, day, appointments, booked, ongoing, completed, completed_without_prescription, cancelled,
  cancelled_by_patient, cancelled_by_doctor, cancelled_by_staff, no_show, aborted, rescheduled, other,
  round(completed::numeric / nullif(appointments - rescheduled, 0), 4) as completed_share,
  round(cancelled::numeric / nullif(appointments - rescheduled, 0), 4) as cancelled_share,
  round(no_show::numeric / nullif(appointments - rescheduled, 0), 4) as no_show_share,
  round(rescheduled::numeric / appointments, 4) as rescheduled_share,
  round(completed_without_prescription::numeric / nullif(completed, 0), 4) as without_prescription_share,
  completion.average_hours as completion_average_hours, completion.median_hours as completion_median_hours
from (
  select
    business_id, clinic_id, doctor_id, day,
    sum(appointments)::bigint as appointments,
    coalesce(sum(appointments) filter (where state = 'booked'), 0)::bigint as booked,
    coalesce(sum(appointments) filter (where state = 'ongoing'), 0)::bigint as ongoing,
    coalesce(sum(appointments) filter (where state like 'completed%'), 0)::bigint as completed,
    coalesce(sum(appointments) filter (where state = 'completed_without_prescription'), 0)::bigint
      as completed_without_prescription,
    coalesce(sum(appointments) filter (where state like 'cancelled%'), 0)::bigint as cancelled,
    coalesce(sum(appointments) filter (where state = 'cancelled_by_patient'), 0)::bigint as cancelled_by_patient,
    coalesce(sum(appointments) filter (where state = 'cancelled_by_doctor'), 0)::bigint as cancelled_by_doctor,
    coalesce(sum(appointments) filter (where state = 'cancelled_by_staff'), 0)::bigint as cancelled_by_staff,
    coalesce(sum(appointments) filter (where state = 'no_show'), 0)::bigint as no_show,
    coalesce(sum(appointments) filter (where state = 'aborted'), 0)::bigint as aborted,
    coalesce(sum(appointments) filter (where state = 'rescheduled'), 0)::bigint as rescheduled,
    coalesce(sum(appointments) filter (where state = 'other'), 0)::bigint as other,
    concatenate(completion_times) as completion_times
  from (
    select *, reporting.appointment_state(status) as state from summed_appointments
  ) by_state
  group by business_id, clinic_id, doctor_id, day
) counted
left join lateral (
  select
    round(extract(epoch from avg(time)) / 3600, 2) as average_hours,
    round(extract(epoch from percentile_cont(0.5) within group (order by time)) / 3600, 2) as median_hours
  from unnest(completion_times) as time
) completion on true;

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

-- Receipts without an appointment and erased receipts have a row too, so that a day's amounts are those of receipts_daily.
create or replace view reporting.appointment_payments as
select
  p.business_id, p.appointment_id, p.day, a.clinic_id, a.doctor_id, a.patient_id, a.status, p.receipts, p.payment_requests,
  p.billed_amount, p.requested_amount, p.paid_amount, p.due_amount
from (
  select
    business_id, appointment_id, day, sum(receipts) as receipts, sum(payment_requests) as payment_requests,
    coalesce(sum(billed_amount), 0) as billed_amount, coalesce(sum(requested_amount), 0) as requested_amount,
    coalesce(sum(paid_amount), 0) as paid_amount, coalesce(sum(due_amount), 0) as due_amount
  from (
    select business_id, nullif(aid, '') as appointment_id, day, 1 as receipts, 0 as payment_requests,
           net_amount as billed_amount, null::numeric as requested_amount, paid_amount, due_amount
    from reporting.receipts
    union all
    select business_id, null, day, 1, 0, net_amount, null, amount_paid, amount_due from erased_receipts where not is_deleted
    union all
    select business_id, nullif(appointment_id, ''), day, 0, 1, null, net_amount, null, null from reporting.payment_requests
  ) payments
  group by business_id, appointment_id, day
) p
left join appointments a on a.business_id = p.business_id and a.appointment_id = p.appointment_id;

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
comment on view reporting.appointment_history  is 'Every version of each appointment, one row each; order by version';
comment on view reporting.appointments_daily   is 'Appointments booked on a day, for each business, clinic and doctor: how many, what became of them, and how long that took';
comment on view reporting.prescriptions        is 'The newest version of each prescription';
comment on view reporting.payment_requests     is 'Requests to patients to pay';
comment on view reporting.appointment_payments is 'What was billed, requested and paid for each appointment on a day: the receipts of the appointment and its payment requests';
comment on view reporting.practice_changes     is 'Doctors who started or stopped practising, or became available';
comment on view reporting.notices              is 'Messages to patients (reminders, prescriptions), and doctors who joined a consultation';

select copy_column_comments('reporting.all_receipts', 'reporting.appointments', 'reporting.appointment_history',
                            'reporting.prescriptions', 'reporting.payment_requests', 'reporting.practice_changes',
                            'reporting.notices');

comment on column reporting.appointments.appointment_id         is 'The appointment; unique within its business';
comment on column reporting.appointments.day                    is 'The day on which it was booked';
comment on column reporting.appointments.booked_at              is 'When it was booked (created_at); if the platform does not send that, the time of its last event';
comment on column reporting.appointments.completed_at           is 'When the first version that completed it was made (modified_at; if the platform does not send that, the time of its event); null: it is not completed, or the reconciliation found it completed, so that the time is not known';
comment on column reporting.appointments.modified_at            is 'When the platform last changed the appointment, by its own clock';
comment on column reporting.appointments.status                 is 'The status that the platform sends, such as BK';
comment on column reporting.appointments.state                  is 'What the status means: booked, ongoing, completed, completed_without_prescription, aborted, no_show, cancelled_by_patient, cancelled_by_doctor, cancelled_by_staff, cancelled_unpaid, rescheduled (another appointment replaces it), or other';
comment on column reporting.appointments.clinic_id              is 'The clinic';
comment on column reporting.appointments.doctor_id              is 'The doctor';
comment on column reporting.appointments.patient_id             is 'The patient';
comment on column reporting.appointments.partner_appointment_id is 'The appointment, by its id in the partner’s system';
comment on column reporting.appointments.partner_clinic_id      is 'The clinic, by its id in the partner’s system';
comment on column reporting.appointments.partner_doctor_id      is 'The doctor, by the id in the partner’s system';
comment on column reporting.appointments.partner_patient_id     is 'The patient, by the id in the partner’s system';
comment on column reporting.appointments.action                 is 'The action that the platform names; the interface does not explain it';
comment on column reporting.appointments.custom_attributes      is 'Labels and tags, as the platform sends them';
comment on column reporting.appointments.workflow_data          is 'The result of each assessment, by its id';
comment on column reporting.appointments.partner_meta           is 'Data of the partner';
comment on column reporting.appointments.starts_at              is 'When it begins (start_time), by the newest version that states it; null: none does, or what it states is no time';

select copy_column_comments('reporting.appointments', 'reporting.schedule', 'reporting.appointment_history', 'reporting.prescriptions',
                            'reporting.payment_requests', 'reporting.practice_changes', 'reporting.notices',
                            'reporting.appointments_daily', 'reporting.appointment_payments');

comment on column reporting.schedule.day       is 'The day on which it begins';
comment on column reporting.schedule.patient_name is 'The name on the newest receipt of the patient; null: no receipt has one';
comment on column reporting.schedule.mobile       is 'The phone number on the newest receipt of the patient; null: no receipt has one';
comment on column reporting.schedule.starts_at is 'When it begins (start_time), by the newest version that states it';

comment on column reporting.appointment_history.version     is 'The number of the version, from 1; the highest is the current one';
comment on column reporting.appointment_history.event       is 'The event, such as appointment.statuschange';
comment on column reporting.appointment_history.day         is 'The day on which the callback was received';
comment on column reporting.appointment_history.modified_at is 'When the platform made this version, by its own clock';
comment on column reporting.appointment_history.booked_at   is 'When it was booked; if the version does not contain that, the time of its event';
comment on column reporting.appointment_history.event_time  is 'When it happened';
comment on column reporting.appointment_history.delivery_id is 'The delivery that contained this version';
comment on column reporting.appointment_history.received_at is 'When the callback was first received';

comment on column reporting.appointments_daily.clinic_id                      is 'The clinic; null: appointments without a clinic';
comment on column reporting.appointments_daily.doctor_id                      is 'The doctor; null: appointments without a doctor';
comment on column reporting.appointments_daily.day                            is 'The day on which the appointments were booked';
comment on column reporting.appointments_daily.appointments                   is 'Number of appointments, rescheduled ones included: the sum of booked, ongoing, completed, cancelled, no_show, aborted, rescheduled and other';
comment on column reporting.appointments_daily.booked                         is 'Of these, the number booked and not begun, patients in the queue included';
comment on column reporting.appointments_daily.ongoing                        is 'Of these, the number under way';
comment on column reporting.appointments_daily.completed                      is 'Of these, the number completed, with or without a prescription';
comment on column reporting.appointments_daily.completed_without_prescription is 'Of the completed ones, the number without a prescription';
comment on column reporting.appointments_daily.cancelled                      is 'Of all, the number cancelled: by the next three, or because the payment failed';
comment on column reporting.appointments_daily.cancelled_by_patient           is 'The number cancelled by the patient';
comment on column reporting.appointments_daily.cancelled_by_doctor            is 'The number cancelled by the doctor';
comment on column reporting.appointments_daily.cancelled_by_staff             is 'The number cancelled by staff';
comment on column reporting.appointments_daily.no_show                        is 'The number to which the patient did not come';
comment on column reporting.appointments_daily.aborted                        is 'The number begun and not completed by midnight';
comment on column reporting.appointments_daily.rescheduled                    is 'The number that another appointment replaces, which is counted on the day on which that was booked. Not lost: the shares of the others leave them out';
comment on column reporting.appointments_daily.other                          is 'The number with an unknown status, or none';
comment on column reporting.appointments_daily.completed_share                is 'completed as a share of the appointments that were not rescheduled, from 0 to 1; null: all were';
comment on column reporting.appointments_daily.cancelled_share                is 'cancelled as a share of the appointments that were not rescheduled, from 0 to 1; null: all were';
comment on column reporting.appointments_daily.no_show_share                  is 'no_show as a share of the appointments that were not rescheduled, from 0 to 1; null: all were';
comment on column reporting.appointments_daily.rescheduled_share              is 'rescheduled as a share of all appointments, from 0 to 1';
comment on column reporting.appointments_daily.without_prescription_share     is 'completed_without_prescription as a share of the completed ones, from 0 to 1; null: none is completed';
comment on column reporting.appointments_daily.completion_average_hours       is 'Average time from booking to completion, in hours; null: none is completed';
comment on column reporting.appointments_daily.completion_median_hours        is 'Median time from booking to completion, in hours; null: none is completed';

comment on column reporting.prescriptions.prescription_id        is 'The prescription; unique within its business';
comment on column reporting.prescriptions.day                    is 'The day of its last event';
comment on column reporting.prescriptions.prescribed_at          is 'When it was created; if the platform does not send that, the time of its last event';
comment on column reporting.prescriptions.modified_at            is 'When the platform last changed the prescription, by its own clock';
comment on column reporting.prescriptions.action                 is 'created or updated';
comment on column reporting.prescriptions.current_version        is 'The version of the prescription that the platform names';
comment on column reporting.prescriptions.previous_version       is 'The version before it';
comment on column reporting.prescriptions.pdf_url                is 'The prescription as a PDF (prescription_url)';
comment on column reporting.prescriptions.print_pdf_url          is 'A PDF of the prescription to print (prescription_url_print)';

comment on column reporting.payment_requests.appointment_id is 'The appointment; null: a request without an appointment';
comment on column reporting.payment_requests.day            is 'The day of the request';
comment on column reporting.payment_requests.requested_at   is 'When it was requested';
comment on column reporting.payment_requests.net_amount     is 'Amount to pay';
comment on column reporting.payment_requests.delivery_id    is 'The delivery that contained it';

comment on column reporting.appointment_payments.business_id      is 'The business, by its id in the platform';
comment on column reporting.appointment_payments.appointment_id   is 'The appointment (aid of a receipt); null: receipts without an appointment, and erased receipts. A rescheduled one and the one that replaces it are two: visits adds them up';
comment on column reporting.appointment_payments.day              is 'The day on which the receipts were issued and the payments requested';
comment on column reporting.appointment_payments.clinic_id        is 'The clinic of the appointment; null: none, or the appointment is not known';
comment on column reporting.appointment_payments.doctor_id        is 'The doctor of the appointment; null: none, or the appointment is not known';
comment on column reporting.appointment_payments.patient_id       is 'The patient of the appointment; null: none, or the appointment is not known';
comment on column reporting.appointment_payments.status           is 'The status of the appointment, such as BK; null: none, or the appointment is not known';
comment on column reporting.appointment_payments.receipts         is 'Number of receipts, without deleted ones';
comment on column reporting.appointment_payments.payment_requests is 'Number of payment requests';
comment on column reporting.appointment_payments.billed_amount    is 'Amount to pay of the receipts after discounts';
comment on column reporting.appointment_payments.requested_amount is 'Amount of the payment requests';
comment on column reporting.appointment_payments.paid_amount      is 'Amount paid so far of the receipts';
comment on column reporting.appointment_payments.due_amount       is 'Amount due of the receipts';

comment on column reporting.practice_changes.day         is 'The day of the change';
comment on column reporting.practice_changes.event       is 'schedule.start_practice, schedule.stop_practice or schedule.available_for_consultation';
comment on column reporting.practice_changes.event_time  is 'When it changed';
comment on column reporting.practice_changes.created_at  is 'When the platform created its record of the practice';
comment on column reporting.practice_changes.modified_at is 'When the platform last changed that record, by its own clock';
comment on column reporting.practice_changes.delivery_id is 'The delivery that contained it';

comment on column reporting.notices.day             is 'The day of the event';
comment on column reporting.notices.event           is 'What it is: appointment.reminder_instant, appointment.followup_reminder_instant, vaccination.reminder, prescription.communication or appointment.tele.dr_joined';
comment on column reporting.notices.event_time      is 'When it happened';
comment on column reporting.notices.appointment_id  is 'The appointment; null: it is about none';
comment on column reporting.notices.doctor_name     is 'The name of the doctor';
comment on column reporting.notices.patient_name    is 'The name of the patient';
comment on column reporting.notices.prescription_id is 'The prescription that was sent';
comment on column reporting.notices.pdf_url         is 'The prescription as a PDF (prescription_url)';
comment on column reporting.notices.actor_id        is 'Who sent it (actor_oid)';
comment on column reporting.notices.booking_link    is 'Where a vaccination can be booked';
comment on column reporting.notices.due_date        is 'The day of the vaccination, such as 2026-11-30';
comment on column reporting.notices.vaccines        is 'The vaccines';
comment on column reporting.notices.delivery_id     is 'The delivery that contained it';
