-- Consent forms, review requests, and the activities of doctors and clinics.

create or replace view reporting.consent_forms as
select
  business_id, id as form_id, reporting.day(event_time) as day, event_time, docid as doctor_id,
  patientid as patient_id, owner, url as pdf_url, sendurlpdf as send_pdf_url, client_id, last_event, delivery_id, type
from consent_forms
where deleted_at is null;

create or replace view reporting.review_requests as
select
  business_id, reporting.day(event_time) as day, event_time as requested_at, clinic_id, doctor_id, patient_id,
  appointment_id, google_review_link, client_id, delivery_id
from review_requests
where deleted_at is null;

create or replace view reporting.activities as
select
  business_id, clinic_id, doctor_id, day, 1 as receipts, net_amount, due_amount, 0 as consent_forms,
  0 as review_requests
from reporting.receipts
union all
select business_id, null, null, day, 1, net_amount, amount_due, 0, 0 from erased_receipts where not is_deleted
union all
-- A consent form has no clinic.
select business_id, null, doctor_id, day, 0, null, null, 1, 0 from reporting.consent_forms
union all
select business_id, clinic_id, doctor_id, day, 0, null, null, 0, 1 from reporting.review_requests;

create or replace view reporting.doctors_daily as
select
  business_id, doctor_id, day, sum(receipts)::bigint as receipts, sum(net_amount) as net_amount, sum(due_amount) as due_amount,
  sum(consent_forms)::bigint as consent_forms, sum(review_requests)::bigint as review_requests
from summed_activities
where receipts > 0 or consent_forms > 0 or review_requests > 0
group by business_id, doctor_id, day;

create or replace view reporting.clinics_daily as
select
  business_id, clinic_id, day, sum(receipts)::bigint as receipts, sum(net_amount) as net_amount, sum(due_amount) as due_amount,
  sum(consent_forms)::bigint as consent_forms, sum(review_requests)::bigint as review_requests
from summed_activities
where receipts > 0 or consent_forms > 0 or review_requests > 0
group by business_id, clinic_id, day;

create or replace view reporting.businesses_daily as
select
  business_id, day, receipts, gross_amount, discount_amount, net_amount, paid_amount, due_amount, deleted_receipts,
  deleted_net_amount, payment_requests, requested_amount, consent_forms, review_requests
from summed_activity_days;

create or replace view reporting.activities_monthly as
select
  business_id, clinic_id, doctor_id, day as month, receipts, gross_amount, discount_amount, net_amount, paid_amount, due_amount,
  deleted_receipts, deleted_net_amount, payment_requests, requested_amount, consent_forms, review_requests
from summed_doctor_months;

comment on view reporting.consent_forms   is 'The newest version of each consent form (medical certificate), without deleted ones';
comment on view reporting.review_requests is 'Requests that ask a patient for a review';
comment on view reporting.activities      is 'Each receipt, consent form and review request that is not deleted; doctors_daily and clinics_daily are its totals';
comment on view reporting.doctors_daily   is 'Receipts, consent forms and review requests of each doctor and day';
comment on view reporting.clinics_daily   is 'Receipts, consent forms and review requests of each clinic and day';
comment on view reporting.activities_monthly is 'Receipts, requests to pay, consent forms and review requests of each clinic, doctor and month: the fastest for comparing years';
comment on view reporting.businesses_daily is 'Receipts, requests to pay, consent forms and review requests of each business and day: the fastest for years of all businesses';

select copy_column_comments('reporting.all_receipts', 'reporting.consent_forms', 'reporting.review_requests',
                            'reporting.activities');

comment on column reporting.consent_forms.form_id      is 'The form; unique within its business';
comment on column reporting.consent_forms.day          is 'The day of its last event: the platform does not send when it was created';
comment on column reporting.consent_forms.event_time   is 'When its last event happened';
comment on column reporting.consent_forms.doctor_id    is 'The doctor (docid)';
comment on column reporting.consent_forms.patient_id   is 'The patient (patientid)';
comment on column reporting.consent_forms.owner        is 'The business; the platform calls this field owner';
comment on column reporting.consent_forms.pdf_url      is 'The form as a PDF';
comment on column reporting.consent_forms.send_pdf_url is 'A PDF of the form to send (sendurlpdf)';
comment on column reporting.consent_forms.type         is 'mcert (a medical certificate) or consent; null before the platform sent it';

comment on column reporting.review_requests.day                is 'The day of the request';
comment on column reporting.review_requests.requested_at       is 'When it was requested';
comment on column reporting.review_requests.clinic_id          is 'The clinic; null: a request without a clinic';
comment on column reporting.review_requests.doctor_id          is 'The doctor';
comment on column reporting.review_requests.patient_id         is 'The patient';
comment on column reporting.review_requests.appointment_id     is 'The appointment; null: a request without an appointment';
comment on column reporting.review_requests.google_review_link is 'The page for writing the review';
comment on column reporting.review_requests.delivery_id        is 'The delivery that contained it';

comment on column reporting.activities.clinic_id       is 'The clinic; null: no clinic, as in every consent form, or erased';
comment on column reporting.activities.doctor_id       is 'The doctor; null: no doctor, or erased';
comment on column reporting.activities.day             is 'The day: of a receipt when it was issued, of a consent form when its last event happened, of a review request when it was requested';
comment on column reporting.activities.receipts        is '1 for a receipt, otherwise 0';
comment on column reporting.activities.net_amount      is 'Amount to pay of the receipt after discounts';
comment on column reporting.activities.due_amount      is 'Amount due of the receipt';
comment on column reporting.activities.consent_forms   is '1 for a consent form, otherwise 0';
comment on column reporting.activities.review_requests is '1 for a review request, otherwise 0';

select copy_column_comments('reporting.activities', 'reporting.doctors_daily', 'reporting.clinics_daily');

comment on column reporting.doctors_daily.day             is 'The day';
comment on column reporting.doctors_daily.receipts        is 'Receipts issued that day, without deleted ones';
comment on column reporting.doctors_daily.net_amount      is 'Amount to pay of these receipts after discounts';
comment on column reporting.doctors_daily.due_amount      is 'Amount due of these receipts';
comment on column reporting.doctors_daily.consent_forms   is 'Consent forms whose last event was that day';
comment on column reporting.doctors_daily.review_requests is 'Review requests made that day';

comment on column reporting.clinics_daily.day             is 'The day';
comment on column reporting.clinics_daily.receipts        is 'Receipts issued that day, without deleted ones';
comment on column reporting.clinics_daily.net_amount      is 'Amount to pay of these receipts after discounts';
comment on column reporting.clinics_daily.due_amount      is 'Amount due of these receipts';
comment on column reporting.clinics_daily.consent_forms   is 'Consent forms whose last event was that day; they have no clinic, so they are counted where clinic_id is null';
comment on column reporting.clinics_daily.review_requests is 'Review requests made that day';

select copy_column_comments('reporting.doctors_daily', 'reporting.businesses_daily', 'reporting.activities_monthly');
select copy_column_comments('reporting.receipts_daily', 'reporting.businesses_daily', 'reporting.activities_monthly');

comment on column reporting.businesses_daily.payment_requests is 'Requests to patients to pay, by the day of the request';
comment on column reporting.businesses_daily.requested_amount is 'Amount of these requests';

select copy_column_comments('reporting.businesses_daily', 'reporting.activities_monthly');
comment on column reporting.activities_monthly.month is 'The first day of the month';
