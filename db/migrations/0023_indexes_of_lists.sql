-- no transaction
-- For the sums of a day of a business.
drop index concurrently if exists payment_requests_business_day;
create index concurrently payment_requests_business_day on payment_requests (business_id, reporting.day(event_time));
-- With what the dues of a phone number are made of; their sums by day are kept.
drop index concurrently if exists receipts_outstanding;
create index concurrently receipts_outstanding on receipts (reporting.day(coalesce(created_at, event_time)), business_id)
  include (created_at, event_time, amount_due, mobile, patient_oid, receipt_id) where amount_due > 0 and deleted_at is null;
drop index concurrently if exists receipts_due;
drop index concurrently if exists receipts_deleted;
create index concurrently receipts_deleted on receipts (business_id, reporting.day(coalesce(created_at, event_time)))
  where deleted_at is not null;
