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

-- What the daily views add up. The amounts of erased receipts stay in the totals of their days. A call of net_of costs more than the
-- rest of a row, and most rows carry nothing.
create or replace view dated_receipts as
select
  business_id, clinic_id, doctor_oid as doctor_id, reporting.day(coalesce(created_at, first_event_time, event_time)) as day,
  case when deleted_at is null then 'receipt' else 'deleted receipt' end as kind, receipt_amount as gross_amount,
  coalesce(sku_discount_amount, 0) + coalesce(additional_discount_amount, 0) as discount_amount,
  case when carried is null then net_amount
      else net_of(carried, net_amount, receipt_amount, sku_discount_amount, additional_discount_amount) end as net_amount,
  amount_paid as paid_amount,
  case when carried is null then amount_due
      else due_of(carried, amount_due, amount_paid, net_amount, receipt_amount, sku_discount_amount, additional_discount_amount) end as due_amount
from receipts
union all
select
  business_id, null, null, day, case when is_deleted then 'deleted receipt' else 'receipt' end, receipt_amount,
  coalesce(sku_discount_amount, 0) + coalesce(additional_discount_amount, 0), net_amount, amount_paid, amount_due
from erased_receipts;

create or replace view dated_activities as
select business_id, clinic_id, doctor_id, day, kind, gross_amount, discount_amount, net_amount, paid_amount, due_amount
from dated_receipts
union all
-- A consent form has no clinic.
select business_id, null, docid, reporting.day(event_time), 'consent form', null, null, null, null, null
from consent_forms where deleted_at is null
union all
select business_id, clinic_id, doctor_id, reporting.day(event_time), 'review request', null, null, null, null, null
from review_requests where deleted_at is null
union all
select business_id, null, doctor_id, reporting.day(event_time), 'payment request', null, null, net_amount, null, null
from payment_requests where deleted_at is null;

create or replace view reporting.receipts_daily as
select
  business_id, clinic_id, doctor_id, day,
  count(*) filter (where kind = 'receipt') as receipts,
  coalesce(sum(gross_amount) filter (where kind = 'receipt'), 0) as gross_amount,
  coalesce(sum(discount_amount) filter (where kind = 'receipt'), 0) as discount_amount,
  coalesce(sum(net_amount) filter (where kind = 'receipt'), 0) as net_amount,
  coalesce(sum(paid_amount) filter (where kind = 'receipt'), 0) as paid_amount,
  coalesce(sum(due_amount) filter (where kind = 'receipt'), 0) as due_amount,
  count(*) filter (where kind = 'deleted receipt') as deleted_receipts,
  coalesce(sum(net_amount) filter (where kind = 'deleted receipt'), 0) as deleted_net_amount
from dated_receipts
group by business_id, clinic_id, doctor_id, day;

create or replace view reporting.doctors_daily as
select
  business_id, doctor_id, day, count(*) filter (where kind = 'receipt') as receipts,
  coalesce(sum(net_amount) filter (where kind = 'receipt'), 0) as net_amount,
  coalesce(sum(due_amount) filter (where kind = 'receipt'), 0) as due_amount,
  count(*) filter (where kind = 'consent form') as consent_forms, count(*) filter (where kind = 'review request') as review_requests
from dated_activities
where kind in ('receipt', 'consent form', 'review request')
group by business_id, doctor_id, day;

create or replace view reporting.clinics_daily as
select
  business_id, clinic_id, day, count(*) filter (where kind = 'receipt') as receipts,
  coalesce(sum(net_amount) filter (where kind = 'receipt'), 0) as net_amount,
  coalesce(sum(due_amount) filter (where kind = 'receipt'), 0) as due_amount,
  count(*) filter (where kind = 'consent form') as consent_forms, count(*) filter (where kind = 'review request') as review_requests
from dated_activities
where kind in ('receipt', 'consent form', 'review request')
group by business_id, clinic_id, day;

create or replace view reporting.businesses_daily as
select
  business_id, day,
  count(*) filter (where kind = 'receipt') as receipts,
  coalesce(sum(gross_amount) filter (where kind = 'receipt'), 0) as gross_amount,
  coalesce(sum(discount_amount) filter (where kind = 'receipt'), 0) as discount_amount,
  coalesce(sum(net_amount) filter (where kind = 'receipt'), 0) as net_amount,
  coalesce(sum(paid_amount) filter (where kind = 'receipt'), 0) as paid_amount,
  coalesce(sum(due_amount) filter (where kind = 'receipt'), 0) as due_amount,
  count(*) filter (where kind = 'deleted receipt') as deleted_receipts,
  coalesce(sum(net_amount) filter (where kind = 'deleted receipt'), 0) as deleted_net_amount,
  count(*) filter (where kind = 'payment request') as payment_requests,
  coalesce(sum(net_amount) filter (where kind = 'payment request'), 0) as requested_amount,
  count(*) filter (where kind = 'consent form') as consent_forms,
  count(*) filter (where kind = 'review request') as review_requests
from dated_activities
group by business_id, day;

comment on view reporting.consent_forms    is 'The newest version of each consent form (medical certificate), without deleted ones';
comment on view reporting.review_requests  is 'Requests that ask a patient for a review';
comment on view reporting.receipts_daily   is 'Totals of the receipts of a day, for each business, clinic and doctor; erased receipts count without both';
comment on view reporting.doctors_daily    is 'Receipts, consent forms and review requests of each doctor and day';
comment on view reporting.clinics_daily    is 'Receipts, consent forms and review requests of each clinic and day; consent forms have no clinic';
comment on view reporting.businesses_daily is 'Receipts, requests to pay, consent forms and review requests of each business and day';
