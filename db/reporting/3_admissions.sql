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
select business_id, id as admission_id, reporting.day(coalesce(admission_date, created_at, event_time)) as day,
       coalesce(admission_date, created_at, event_time) as admitted_at, stage, status,
       reporting.admission_has_ended(stage, status) as has_ended, ipid as inpatient_number, pid as patient_id, docid as doctor_id,
       facilityid as facility_id,
       case jsonb_typeof(department) when 'object' then department->>'name' else department #>> '{}' end as department,
       totalbilled as billed_amount, totalpaid as paid_amount,
       reporting.amount_due(totalbilled, coalesce(totalpaid, 0), null) as due_amount, created_at, updated_at, client_id, last_event,
       event_time, delivery_id, category, bed, doc as doctor, facility, patient, attendee, insurance, medico_legal_case, procedures,
       rateplan, refer, duration
from public.admissions
where deleted_at is null;

-- The patient is that of the admission: these callbacks name none.
create or replace view reporting.admission_events as
select e.business_id, e.id as event_id, reporting.day(e.event_time) as day, coalesce(e.at, e.event_time) as happened_at, e.kind,
       e.admission_id, a.pid as patient_id, e.clearance_type, e."to" as new_value, e.client_id, e.last_event, e.event_time,
       e.delivery_id, e.by as made_by
from public.admission_events e
left join public.admissions a on a.business_id = e.business_id and a.id = e.admission_id
where e.deleted_at is null;

create or replace view reporting.admission_clearances as
select c.business_id, c.transaction_id as clearance_id, reporting.day(c.event_time) as day, c.type, c.status,
       reporting.clearance_is_open(c.status, c.completed_at) as is_open, c.admission_id, a.pid as patient_id, c.completed_at,
       c.updated_at, c.client_id, c.last_event, c.event_time, c.delivery_id, c.completed_by
from public.admission_clearances c
left join public.admissions a on a.business_id = c.business_id and a.id = c.admission_id
where c.deleted_at is null;

create or replace view reporting.admission_estimates as
select e.business_id, e.id as estimate_id, reporting.day(e.event_time) as day, e.name, e.service_id, e.quantity, e.rate,
       coalesce(e.quantity, 1) * e.rate as estimated_amount, e.date as estimated_at, e.remarks, e.admission_id, a.pid as patient_id,
       e.created_at, e.updated_at, e.client_id, e.last_event, e.event_time, e.delivery_id, e.discount, e.added_by
from public.admission_estimates e
left join public.admissions a on a.business_id = e.business_id and a.id = e.admission_id
where e.deleted_at is null;

create or replace view reporting.open_admissions as
select a.business_id, a.admission_id, a.day, a.admitted_at, reporting.today() - a.day as days_since_admission, a.stage, a.status,
       a.inpatient_number, a.patient_id, a.doctor_id, a.facility_id, a.department,
       c.open_clearances, c.open_clearance_types, e.estimated_amount, a.billed_amount, a.paid_amount,
       a.due_amount
from reporting.admissions a
left join lateral (
  select count(*) as open_clearances, string_agg(type, ', ' order by type) as open_clearance_types
  from reporting.admission_clearances where is_open and business_id = a.business_id and admission_id = a.admission_id
) c on true
left join lateral (
  select sum(estimated_amount) as estimated_amount
  from reporting.admission_estimates where business_id = a.business_id and admission_id = a.admission_id
) e on true
-- The index admissions_open has the same condition.
where a.has_ended is false;

comment on function reporting.admission_has_ended is 'Whether an admission is no longer under way: its stage or status contains discharged, cancelled, canceled, closed or completed, in any case. Their values are not documented';
comment on function reporting.clearance_is_open   is 'Whether a clearance is still to be given: it has no time of completion, and no word of its status begins with completed, cleared or approved, in any case. The values of status are not documented';

comment on view reporting.admissions           is 'The newest version of each admission to a hospital (IPD)';
comment on view reporting.admission_events     is 'The newest version of each event of an admission';
comment on view reporting.admission_clearances is 'The newest version of each clearance of an admission';
comment on view reporting.admission_estimates  is 'The newest version of each estimate of what an admission will cost';
comment on view reporting.open_admissions      is 'Admissions under way, with their open clearances, and the amounts estimated, billed and paid';
