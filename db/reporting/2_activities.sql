-- Consent forms, review requests and requests to pay, and the days of doctors, clinics and businesses.

create or replace view reporting.consent_forms as
select business_id, id as form_id, reporting.day(event_time) as day, event_time, docid as doctor_id, patientid as patient_id, owner,
       url as pdf_url, sendurlpdf as send_pdf_url, client_id, last_event, delivery_id, type
from public.consent_forms
where deleted_at is null;

create or replace view reporting.review_requests as
select business_id, reporting.day(event_time) as day, event_time as requested_at, clinic_id, doctor_id, patient_id, appointment_id,
       google_review_link, client_id, delivery_id
from public.review_requests
where deleted_at is null;

create or replace view reporting.payment_requests as
select business_id, delivery_id, reporting.day(event_time) as day, event_time as requested_at, appointment_id, doctor_id, patient_id,
       net_amount, url as payment_link, client_id
from public.payment_requests
where deleted_at is null;

-- Receipts are added up first: they are the most. Consent forms and requests to pay have no clinic.
create or replace view reporting.activities_daily as
select business_id, clinic_id, doctor_id, day, receipts, gross_amount, discount_amount, net_amount, paid_amount, due_amount,
       deleted_receipts, deleted_net_amount, 0 as payment_requests, 0::numeric as requested_amount, 0 as consent_forms,
       0 as review_requests
from reporting.receipts_daily
union all
select business_id, null, doctor_id, day, 0, 0, 0, 0, 0, 0, 0, 0, 1, coalesce(net_amount, 0), 0, 0 from reporting.payment_requests
union all
select business_id, null, doctor_id, day, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0 from reporting.consent_forms
union all
select business_id, clinic_id, doctor_id, day, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 from reporting.review_requests;

create or replace view reporting.doctors_daily as
select business_id, doctor_id, day, sum(receipts)::bigint as receipts, sum(net_amount) as net_amount, sum(due_amount) as due_amount,
       sum(consent_forms)::bigint as consent_forms, sum(review_requests)::bigint as review_requests
from reporting.activities_daily
where receipts + consent_forms + review_requests > 0
group by business_id, doctor_id, day;

create or replace view reporting.clinics_daily as
select business_id, clinic_id, day, sum(receipts)::bigint as receipts, sum(net_amount) as net_amount, sum(due_amount) as due_amount,
       sum(consent_forms)::bigint as consent_forms, sum(review_requests)::bigint as review_requests
from reporting.activities_daily
where receipts + consent_forms + review_requests > 0
group by business_id, clinic_id, day;

create or replace view reporting.businesses_daily as
select business_id, day, sum(receipts)::bigint as receipts, sum(gross_amount) as gross_amount,
       sum(discount_amount) as discount_amount, sum(net_amount) as net_amount, sum(paid_amount) as paid_amount, sum(due_amount) as due_amount,
       sum(deleted_receipts)::bigint as deleted_receipts, sum(deleted_net_amount) as deleted_net_amount,
       sum(payment_requests)::bigint as payment_requests, sum(requested_amount) as requested_amount,
       sum(consent_forms)::bigint as consent_forms, sum(review_requests)::bigint as review_requests
from reporting.activities_daily
group by business_id, day;

comment on view reporting.consent_forms    is 'The newest version of each consent form (medical certificate), without deleted ones';
comment on view reporting.review_requests  is 'Requests that ask a patient for a review';
comment on view reporting.payment_requests is 'Requests to patients to pay';
comment on view reporting.activities_daily is 'What doctors_daily, clinics_daily and businesses_daily add up';
comment on view reporting.doctors_daily    is 'Receipts (without failed ones), consent forms and review requests of each doctor and day';
comment on view reporting.clinics_daily    is 'Receipts (without failed ones), consent forms and review requests of each clinic and day; consent forms have no clinic';
comment on view reporting.businesses_daily is 'Receipts (without failed ones), requests to pay, consent forms and review requests of each business and day';
