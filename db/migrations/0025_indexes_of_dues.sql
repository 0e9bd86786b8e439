-- no transaction
-- Dues in the order of phone numbers, in which a page of any number of them is read; those of a day no longer hold what a phone's total
-- is made of.
drop index concurrently if exists receipts_outstanding_phone;
create index concurrently receipts_outstanding_phone
  on receipts (business_id, phone_key(mobile), (case when phone_key(mobile) is null then patient_oid end))
  where amount_due > 0 and deleted_at is null;
drop index concurrently if exists receipts_outstanding_day;
create index concurrently receipts_outstanding_day on receipts (reporting.day(coalesce(created_at, event_time)), business_id)
  where amount_due > 0 and deleted_at is null;
drop index concurrently if exists receipts_outstanding;
