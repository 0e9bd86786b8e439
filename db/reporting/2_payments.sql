-- Payments as the platform told them, to match takings with the bank.

-- With the delivery of the receipt's row: what an export and an erasure of its patient find.
create or replace view receipt_payments as
select
  p.business_id, p.payment_id, p.receipt_id, p.amount, p.mode, p.gateway, p.rrn, p.status, p.created_at, p.extra, p.asked_at,
  r.delivery_id, r.event_time
from payments p join receipts r using (business_id, receipt_id);

create or replace view reporting.payments as
select
  p.business_id, p.payment_id, p.receipt_id, reporting.day(coalesce(p.created_at, p.first_asked_at)) as day,
  coalesce(p.created_at, p.first_asked_at) as happened_at,
  case
    when p.status = 'PAYMENT_SUCCESS' then 'successful'
    when p.ask_again_at is not null then 'open'
    when p.status is null then 'unknown_to_platform'
    else 'not_successful'
  end as state,
  p.status, p.amount as payment_amount, p.mode, p.gateway, p.rrn, r.amount_paid as receipt_paid_amount,
  reporting.day(coalesce(r.created_at, r.first_event_time, r.event_time)) as receipt_day, r.deleted_at as receipt_deleted_at,
  r.clinic_id, r.doctor_oid as doctor_id, r.patient_oid as patient_id, p.asked_at
from payments p join receipts r using (business_id, receipt_id);

comment on view reporting.payments is 'Each payment of a receipt, as the platform told it: to match takings with the bank. Empty unless RECONCILE_WITH names payments';
comment on column reporting.payments.business_id         is 'The business, by its id in the platform';
comment on column reporting.payments.payment_id          is 'The payment, by its id in the platform';
comment on column reporting.payments.receipt_id          is 'The receipt that names it';
comment on column reporting.payments.day                 is 'The day of the payment; where the platform does not tell it, of the first question';
comment on column reporting.payments.happened_at         is 'When it was made; where the platform does not tell it, when it was asked for the first time';
comment on column reporting.payments.state               is 'successful; open: it is asked for again; not_successful: another status for 30 days; unknown_to_platform: for 7 days';
comment on column reporting.payments.status              is 'The status in the platform, such as PAYMENT_SUCCESS; null: it does not know the payment';
comment on column reporting.payments.payment_amount      is 'Amount of the payment';
comment on column reporting.payments.mode                is 'How it was paid, such as UPI';
comment on column reporting.payments.gateway             is 'The payment gateway';
comment on column reporting.payments.rrn                 is 'The bank''s reference';
comment on column reporting.payments.receipt_paid_amount is 'Amount paid by the receipt; it may include other payments';
comment on column reporting.payments.receipt_day         is 'The day of the receipt';
comment on column reporting.payments.receipt_deleted_at  is 'When the receipt was deleted; null: it was not';
comment on column reporting.payments.clinic_id           is 'The clinic of the receipt';
comment on column reporting.payments.doctor_id           is 'The doctor of the receipt';
comment on column reporting.payments.patient_id          is 'The patient of the receipt';
comment on column reporting.payments.asked_at            is 'When the platform was asked for the last time';

create or replace view reporting.payments_daily as
select
  business_id, day, coalesce(gateway, '') as gateway, coalesce(mode, '') as mode,
  count(*) filter (where state = 'successful') as successful_payments,
  coalesce(sum(payment_amount) filter (where state = 'successful'), 0) as successful_amount,
  count(*) filter (where state <> 'successful') as other_payments,
  coalesce(sum(payment_amount) filter (where state <> 'successful'), 0) as other_payments_amount
from reporting.payments
group by 1, 2, 3, 4;

comment on view reporting.payments_daily is 'Payments per day, gateway and mode, as the bank shows them. Empty unless RECONCILE_WITH names payments';
select copy_column_comments('reporting.payments', 'reporting.payments_daily');
comment on column reporting.payments_daily.gateway               is 'The payment gateway; empty: not told';
comment on column reporting.payments_daily.mode                  is 'How they were paid, such as UPI; empty: not told';
comment on column reporting.payments_daily.successful_payments   is 'Number of successful payments';
comment on column reporting.payments_daily.successful_amount     is 'Their amount';
comment on column reporting.payments_daily.other_payments        is 'Number of other payments: open, not successful or unknown to the platform';
comment on column reporting.payments_daily.other_payments_amount is 'Their amount as far as it is told';
