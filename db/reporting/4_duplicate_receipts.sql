-- Business by business, because the indexes begin with it; by the days of a question, because these are part of what is alike.
create or replace view reporting.duplicate_receipts as
select
  s.business_id, r.receipt_id, r.receipt_number, r.day, r.issued_at, r.copy_number, r.first_receipt_id,
  r.clinic_id, r.doctor_id, r.patient_id, r.name, r.mobile, r.net_amount, r.paid_amount, r.due_amount
from senders s
cross join lateral (
  select
    receipt_id, receipt_number, day, issued_at, clinic_id, doctor_id, patient_id, name, mobile, net_amount, paid_amount, due_amount,
    count(*) over alike as copies,
    row_number() over (alike order by issued_at, receipt_id) as copy_number,
    first_value(receipt_id) over (alike order by issued_at, receipt_id) as first_receipt_id
  from reporting.receipts of_business
  where of_business.business_id = s.business_id and patient_id <> '' and net_amount > 0
  window alike as (partition by day, patient_id, net_amount)
) r
where r.copies > 1;

comment on view reporting.duplicate_receipts is 'Receipts of one patient with the same amount on the same day, where there is more than one that was not deleted';
