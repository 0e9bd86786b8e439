-- Consent forms, review requests, and what doctors and clinics did.

create or replace view reporting.consent_forms as
select
  business_id, id as form_id, reporting.day(event_time) as day, event_time, docid as doctor_id,
  patientid as patient_id, owner, url as pdf_url, sendurlpdf as send_pdf_url, client_id, last_event, delivery_id
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
-- A consent form does not say its clinic.
select business_id, null, doctor_id, day, 0, null, null, 1, 0 from reporting.consent_forms
union all
select business_id, clinic_id, doctor_id, day, 0, null, null, 0, 1 from reporting.review_requests;

create or replace view reporting.doctors_daily as
select
  business_id, doctor_id, day, sum(receipts) as receipts, coalesce(sum(net_amount), 0) as net_amount,
  coalesce(sum(due_amount), 0) as due_amount, sum(consent_forms) as consent_forms,
  sum(review_requests) as review_requests
from reporting.activities
group by business_id, doctor_id, day;

create or replace view reporting.clinics_daily as
select
  business_id, clinic_id, day, sum(receipts) as receipts, coalesce(sum(net_amount), 0) as net_amount,
  coalesce(sum(due_amount), 0) as due_amount, sum(consent_forms) as consent_forms,
  sum(review_requests) as review_requests
from reporting.activities
group by business_id, clinic_id, day;

comment on view reporting.consent_forms   is 'Consent forms (medical certificates) as their newest versions say';
comment on view reporting.review_requests is 'Requests that ask a patient for a review';
comment on view reporting.activities      is 'Each receipt, consent form and review request that is not deleted: what doctors_daily and clinics_daily add up';
comment on view reporting.doctors_daily   is 'What each doctor did in a day: receipts, consent forms and review requests';
comment on view reporting.clinics_daily   is 'What each clinic did in a day: receipts, consent forms and review requests';

select copy_column_comments('reporting.all_receipts', 'reporting.consent_forms', 'reporting.review_requests',
                            'reporting.activities');

comment on column reporting.consent_forms.form_id      is 'The form; unique within its business';
comment on column reporting.consent_forms.day          is 'The day of its last event: the service sends no time of its creation';
comment on column reporting.consent_forms.event_time   is 'When its last event happened';
comment on column reporting.consent_forms.doctor_id    is 'The doctor (docid)';
comment on column reporting.consent_forms.patient_id   is 'The patient (patientid)';
comment on column reporting.consent_forms.owner        is 'Its owner: the business, as the service calls it';
comment on column reporting.consent_forms.pdf_url      is 'The form as a PDF';
comment on column reporting.consent_forms.send_pdf_url is 'The PDF that is sent out';

comment on column reporting.review_requests.day                is 'The day of the request';
comment on column reporting.review_requests.requested_at       is 'When it was made';
comment on column reporting.review_requests.clinic_id          is 'The clinic; null: the request names none';
comment on column reporting.review_requests.doctor_id          is 'The doctor';
comment on column reporting.review_requests.patient_id         is 'The patient';
comment on column reporting.review_requests.appointment_id     is 'The appointment; null: the request names none';
comment on column reporting.review_requests.google_review_link is 'Where the review is written';
comment on column reporting.review_requests.delivery_id        is 'The delivery that brought it';

comment on column reporting.activities.clinic_id       is 'The clinic; null: none was named, as on every consent form';
comment on column reporting.activities.doctor_id       is 'The doctor; null: none was named';
comment on column reporting.activities.day             is 'The day: of a receipt that of its issue, of a consent form that of its last event';
comment on column reporting.activities.receipts        is '1: it is a receipt';
comment on column reporting.activities.net_amount      is 'What the receipt came to after discounts, in rupees';
comment on column reporting.activities.due_amount      is 'What is still to pay of the receipt, in rupees';
comment on column reporting.activities.consent_forms   is '1: it is a consent form';
comment on column reporting.activities.review_requests is '1: it is a review request';

select copy_column_comments('reporting.activities', 'reporting.doctors_daily', 'reporting.clinics_daily');

comment on column reporting.doctors_daily.day             is 'The day';
comment on column reporting.doctors_daily.receipts        is 'Receipts issued that day, without the deleted ones';
comment on column reporting.doctors_daily.net_amount      is 'What they came to after discounts, in rupees';
comment on column reporting.doctors_daily.due_amount      is 'What is still to pay of them, in rupees';
comment on column reporting.doctors_daily.consent_forms   is 'Consent forms whose last event was that day';
comment on column reporting.doctors_daily.review_requests is 'Review requests made that day';

comment on column reporting.clinics_daily.day             is 'The day';
comment on column reporting.clinics_daily.receipts        is 'Receipts issued that day, without the deleted ones';
comment on column reporting.clinics_daily.net_amount      is 'What they came to after discounts, in rupees';
comment on column reporting.clinics_daily.due_amount      is 'What is still to pay of them, in rupees';
comment on column reporting.clinics_daily.consent_forms   is 'Consent forms whose last event was that day; they name no clinic, so they stand beside clinic_id null';
comment on column reporting.clinics_daily.review_requests is 'Review requests made that day';
