-- Admissions to a hospital with their events, clearances and estimates.

-- The values of stage and status are not documented. What counts as an ended admission is decided here alone.
create or replace function reporting.admission_has_ended(stage text, status text) returns boolean
  language sql immutable parallel safe
  return coalesce(stage, '') || ' ' || coalesce(status, '') ~* 'discharged|cancell?ed|closed|completed';

-- The values of status are not documented. What counts as an open clearance is decided here alone.
create or replace function reporting.clearance_is_open(status text, completed_at timestamptz) returns boolean
  language sql immutable parallel safe
  return completed_at is null and coalesce(status, '') !~* '\m(completed|cleared|approved)';

create or replace view reporting.admissions as
select
  business_id, id as admission_id, reporting.day(coalesce(admission_date, created_at, event_time)) as day,
  coalesce(admission_date, created_at, event_time) as admitted_at, stage, status,
  reporting.admission_has_ended(stage, status) as has_ended, ipid as inpatient_number, pid as patient_id,
  docid as doctor_id, facilityid as facility_id,
  case jsonb_typeof(department) when 'object' then department->>'name' else department #>> '{}' end as department,
  totalbilled as billed_amount, totalpaid as paid_amount, totalbilled - coalesce(totalpaid, 0) as due_amount,
  created_at, updated_at, client_id, last_event, event_time, delivery_id, category, bed, doc as doctor, facility, patient,
  attendee, insurance, medico_legal_case, procedures, rateplan, refer, duration
from admissions
where deleted_at is null;

-- The patient is that of the admission: these callbacks name none.
create or replace view reporting.admission_events as
select
  e.business_id, e.id as event_id, reporting.day(e.event_time) as day, coalesce(e.at, e.event_time) as happened_at,
  e.kind, e.admission_id, a.pid as patient_id, e.clearance_type, e."to" as new_value, e.client_id, e.last_event,
  e.event_time, e.delivery_id, e.by as made_by
from admission_events e
left join admissions a on a.business_id = e.business_id and a.id = e.admission_id
where e.deleted_at is null;

create or replace view reporting.admission_clearances as
select
  c.business_id, c.transaction_id as clearance_id, reporting.day(c.event_time) as day, c.type, c.status,
  reporting.clearance_is_open(c.status, c.completed_at) as is_open, c.admission_id, a.pid as patient_id, c.completed_at,
  c.updated_at, c.client_id, c.last_event, c.event_time, c.delivery_id, c.completed_by
from admission_clearances c
left join admissions a on a.business_id = c.business_id and a.id = c.admission_id
where c.deleted_at is null;

create or replace view reporting.admission_estimates as
select
  e.business_id, e.id as estimate_id, reporting.day(e.event_time) as day, e.name, e.service_id, e.quantity, e.rate,
  coalesce(e.quantity, 1) * e.rate as estimated_amount, e.date as estimated_at, e.remarks, e.admission_id,
  a.pid as patient_id, e.created_at, e.updated_at, e.client_id, e.last_event, e.event_time, e.delivery_id, e.discount,
  e.added_by
from admission_estimates e
left join admissions a on a.business_id = e.business_id and a.id = e.admission_id
where e.deleted_at is null;

-- Lateral, so that only the clearances and estimates of these admissions are read, by their indexes.
create or replace view reporting.open_admissions as
select
  a.business_id, a.admission_id, a.day, a.admitted_at, reporting.today() - a.day as days_since_admission, a.stage, a.status,
  a.inpatient_number, a.patient_id, a.doctor_id, a.facility_id, a.department, clearances.open_clearances,
  clearances.open_clearance_types, estimates.estimated_amount, a.billed_amount, a.paid_amount, a.due_amount
from reporting.admissions a
left join lateral (
  select count(*) as open_clearances, string_agg(c.type, ', ' order by c.type) as open_clearance_types
  from reporting.admission_clearances c
  where c.business_id = a.business_id and c.admission_id = a.admission_id and c.is_open
) clearances on true
left join lateral (
  select sum(e.estimated_amount) as estimated_amount
  from reporting.admission_estimates e
  where e.business_id = a.business_id and e.admission_id = a.admission_id
) estimates on true
where not a.has_ended;

comment on function reporting.admission_has_ended is 'Whether an admission is no longer under way: its stage or status contains discharged, cancelled, canceled, closed or completed, in any case. Their values are not documented';
comment on function reporting.clearance_is_open   is 'Whether a clearance is still to be given: it has no time of completion, and no word of its status begins with completed, cleared or approved, in any case. The values of status are not documented';

comment on view reporting.admissions           is 'The newest version of each admission to a hospital (IPD)';
comment on view reporting.admission_events     is 'The newest version of each event of an admission';
comment on view reporting.admission_clearances is 'The newest version of each clearance of an admission';
comment on view reporting.admission_estimates  is 'The newest version of each estimate of what an admission will cost';
comment on view reporting.open_admissions      is 'Admissions under way, with their open clearances, and the amounts estimated, billed and paid';

select copy_column_comments('reporting.all_receipts', 'reporting.admissions', 'reporting.admission_events',
                            'reporting.admission_clearances', 'reporting.admission_estimates');

comment on column reporting.admissions.admission_id      is 'The admission; unique within its business';
comment on column reporting.admissions.day               is 'The day of the admission';
comment on column reporting.admissions.admitted_at       is 'When the patient was admitted (admission_date); if the platform does not send that, when the admission was created, or the time of its last event';
comment on column reporting.admissions.stage             is 'The stage that the platform sends; its values are not documented';
comment on column reporting.admissions.status            is 'The status that the platform sends; its values are not documented';
comment on column reporting.admissions.has_ended         is 'Whether it is no longer under way, judged by stage and status, see the function admission_has_ended';
comment on column reporting.admissions.inpatient_number  is 'The number of the stay (ipid)';
comment on column reporting.admissions.patient_id        is 'The patient (pid)';
comment on column reporting.admissions.doctor_id         is 'The doctor (docid)';
comment on column reporting.admissions.facility_id       is 'The facility (facilityid)';
comment on column reporting.admissions.department        is 'The name of the department';
comment on column reporting.admissions.billed_amount     is 'Amount billed so far (totalbilled)';
comment on column reporting.admissions.paid_amount       is 'Amount paid so far (totalpaid)';
comment on column reporting.admissions.due_amount        is 'Amount billed and not paid; null: nothing was billed';
comment on column reporting.admissions.created_at        is 'When the platform created it';
comment on column reporting.admissions.updated_at        is 'When the platform last changed it, by its own clock';
comment on column reporting.admissions.category          is 'The category, as the platform sends it';
comment on column reporting.admissions.bed               is 'The bed, as the platform sends it';
comment on column reporting.admissions.doctor            is 'The doctor, as the platform sends it (doc)';
comment on column reporting.admissions.facility          is 'The facility, as the platform sends it';
comment on column reporting.admissions.patient           is 'The patient with name, phone, gender and birth date, as the platform sends it';
comment on column reporting.admissions.attendee          is 'Who accompanies the patient, as the platform sends it';
comment on column reporting.admissions.insurance         is 'The insurance, as the platform sends it';
comment on column reporting.admissions.medico_legal_case is 'Whether it is a medico-legal case, as the platform sends it';
comment on column reporting.admissions.procedures        is 'The procedures, as the platform sends them';
comment on column reporting.admissions.rateplan          is 'The rate plan, as the platform sends it';
comment on column reporting.admissions.refer             is 'Who referred the patient, as the platform sends it';
comment on column reporting.admissions.duration          is 'The expected duration, as the platform sends it';

select copy_column_comments('reporting.admissions', 'reporting.admission_events', 'reporting.admission_clearances',
                            'reporting.admission_estimates', 'reporting.open_admissions');

comment on column reporting.open_admissions.days_since_admission is 'Days since the admission';
comment on column reporting.open_admissions.open_clearances      is 'Number of clearances still to be given, see the function clearance_is_open';
comment on column reporting.open_admissions.open_clearance_types is 'The kinds of these clearances; null: none';
comment on column reporting.open_admissions.estimated_amount     is 'Sum of quantity × rate of its estimates, before discounts: how these are to be computed is not documented. null: no estimate has a rate';

comment on column reporting.admission_events.event_id       is 'The event; unique within its business';
comment on column reporting.admission_events.day            is 'The day of the callback’s event';
comment on column reporting.admission_events.happened_at    is 'When it happened (at); if the platform does not send that, the time of the callback’s event';
comment on column reporting.admission_events.kind           is 'The kind of event';
comment on column reporting.admission_events.admission_id   is 'The admission; null: the callback does not name it';
comment on column reporting.admission_events.patient_id     is 'The patient of the admission; null: the admission is not known';
comment on column reporting.admission_events.clearance_type is 'The kind of clearance that it is about';
comment on column reporting.admission_events.new_value      is 'What it was changed to (to)';
comment on column reporting.admission_events.made_by        is 'Who did it: id and name (by)';

comment on column reporting.admission_clearances.clearance_id is 'The clearance: its transaction_id, because it has no other id';
comment on column reporting.admission_clearances.day          is 'The day of its last event';
comment on column reporting.admission_clearances.type         is 'The kind of clearance';
comment on column reporting.admission_clearances.is_open      is 'Whether it is still to be given, see the function clearance_is_open';
comment on column reporting.admission_clearances.admission_id is 'The admission; null: the callback does not name it';
comment on column reporting.admission_clearances.patient_id   is 'The patient of the admission; null: the admission is not known';
comment on column reporting.admission_clearances.completed_at is 'When it was given; null: not yet';
comment on column reporting.admission_clearances.completed_by is 'Who gave it: id and name';

comment on column reporting.admission_estimates.estimate_id      is 'The estimate; unique within its business';
comment on column reporting.admission_estimates.day              is 'The day of its last event';
comment on column reporting.admission_estimates.name             is 'What is estimated';
comment on column reporting.admission_estimates.service_id       is 'The service that is estimated';
comment on column reporting.admission_estimates.quantity         is 'The quantity';
comment on column reporting.admission_estimates.rate             is 'The price of one';
comment on column reporting.admission_estimates.estimated_amount is 'quantity × rate, before the discount; without a quantity, the rate';
comment on column reporting.admission_estimates.estimated_at     is 'The time of the estimate (date)';
comment on column reporting.admission_estimates.remarks          is 'Remarks on the estimate';
comment on column reporting.admission_estimates.admission_id     is 'The admission; null: the callback does not name it';
comment on column reporting.admission_estimates.patient_id       is 'The patient of the admission; null: the admission is not known';
comment on column reporting.admission_estimates.discount         is 'The discount: category and value. How it is to be computed is not documented';
comment on column reporting.admission_estimates.added_by         is 'Who added it';
