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
  deleted_at is not null as is_deleted, receipt_amount as gross_amount,
  coalesce(sku_discount_amount, 0) + coalesce(additional_discount_amount, 0) as discount_amount,
  case when carried is null then net_amount
    else net_of(carried, net_amount, receipt_amount, sku_discount_amount, additional_discount_amount) end as net_amount,
  amount_paid as paid_amount,
  case when carried is null then amount_due
    else due_of(carried, amount_due, amount_paid, net_amount, receipt_amount, sku_discount_amount, additional_discount_amount) end
    as due_amount
from receipts
union all
select
  business_id, null, null, day, is_deleted, receipt_amount, coalesce(sku_discount_amount, 0) + coalesce(additional_discount_amount, 0),
  net_amount, amount_paid, amount_due
from erased_receipts;

create or replace view reporting.receipts_daily as
select
  business_id, clinic_id, doctor_id, day, count(*) filter (where not is_deleted) as receipts,
  coalesce(sum(gross_amount) filter (where not is_deleted), 0) as gross_amount,
  coalesce(sum(discount_amount) filter (where not is_deleted), 0) as discount_amount,
  coalesce(sum(net_amount) filter (where not is_deleted), 0) as net_amount,
  coalesce(sum(paid_amount) filter (where not is_deleted), 0) as paid_amount,
  coalesce(sum(due_amount) filter (where not is_deleted), 0) as due_amount,
  count(*) filter (where is_deleted) as deleted_receipts,
  coalesce(sum(net_amount) filter (where is_deleted), 0) as deleted_net_amount
from dated_receipts
group by business_id, clinic_id, doctor_id, day;

-- A consent form has no clinic. Receipts are added up first: they are the most.
create or replace view dated_activities as
select
  business_id, clinic_id, doctor_id, day, receipts, gross_amount, discount_amount, net_amount, paid_amount, due_amount,
  deleted_receipts, deleted_net_amount, 0 as payment_requests, 0 as requested_amount, 0 as consent_forms, 0 as review_requests
from reporting.receipts_daily
union all
select business_id, null, docid, reporting.day(event_time), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0 from consent_forms where deleted_at is null
union all
select business_id, clinic_id, doctor_id, reporting.day(event_time), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1
from review_requests where deleted_at is null
union all
select business_id, null, doctor_id, reporting.day(event_time), 0, 0, 0, 0, 0, 0, 0, 0, 1, coalesce(net_amount, 0), 0, 0
from payment_requests where deleted_at is null;

create or replace view reporting.doctors_daily as
select
  business_id, doctor_id, day, sum(receipts)::bigint as receipts, sum(net_amount) as net_amount, sum(due_amount) as due_amount,
  sum(consent_forms)::bigint as consent_forms, sum(review_requests)::bigint as review_requests
from dated_activities
where receipts + consent_forms + review_requests > 0
group by business_id, doctor_id, day;

create or replace view reporting.clinics_daily as
select
  business_id, clinic_id, day, sum(receipts)::bigint as receipts, sum(net_amount) as net_amount, sum(due_amount) as due_amount,
  sum(consent_forms)::bigint as consent_forms, sum(review_requests)::bigint as review_requests
from dated_activities
where receipts + consent_forms + review_requests > 0
group by business_id, clinic_id, day;

create or replace view reporting.businesses_daily as
select
  business_id, day, sum(receipts)::bigint as receipts, sum(gross_amount) as gross_amount, sum(discount_amount) as discount_amount,
  sum(net_amount) as net_amount, sum(paid_amount) as paid_amount, sum(due_amount) as due_amount,
  sum(deleted_receipts)::bigint as deleted_receipts, sum(deleted_net_amount) as deleted_net_amount,
  sum(payment_requests)::bigint as payment_requests, sum(requested_amount) as requested_amount,
  sum(consent_forms)::bigint as consent_forms, sum(review_requests)::bigint as review_requests
from dated_activities
group by business_id, day;

comment on view reporting.consent_forms    is 'The newest version of each consent form (medical certificate), without deleted ones';
comment on view reporting.review_requests  is 'Requests that ask a patient for a review';
comment on view reporting.receipts_daily   is 'Totals of the receipts of a day, for each business, clinic and doctor; erased receipts count without both';
comment on view reporting.doctors_daily    is 'Receipts, consent forms and review requests of each doctor and day';
comment on view reporting.clinics_daily    is 'Receipts, consent forms and review requests of each clinic and day; consent forms have no clinic';
comment on view reporting.businesses_daily is 'Receipts, requests to pay, consent forms and review requests of each business and day';
