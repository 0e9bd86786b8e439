-- no transaction
-- By the day of the earliest event where nobody has said when a record was created; and what may be due because a part of that was
-- told later: to compute it for each index would take longer than to write the row.
drop index concurrently if exists receipts_day_new;
create index concurrently receipts_day_new on receipts (business_id, reporting.day(coalesce(created_at, first_event_time, event_time)));
drop index concurrently if exists receipts_day;
alter index receipts_day_new rename to receipts_day;
drop index concurrently if exists receipts_deleted_new;
create index concurrently receipts_deleted_new on receipts (business_id, reporting.day(coalesce(created_at, first_event_time, event_time)))
  where deleted_at is not null;
drop index concurrently if exists receipts_deleted;
alter index receipts_deleted_new rename to receipts_deleted;
drop index concurrently if exists receipts_outstanding_day_new;
create index concurrently receipts_outstanding_day_new on receipts (reporting.day(coalesce(created_at, first_event_time, event_time)), business_id)
  where (amount_due > 0 or carried is not null) and deleted_at is null;
drop index concurrently if exists receipts_outstanding_day;
alter index receipts_outstanding_day_new rename to receipts_outstanding_day;
drop index concurrently if exists receipts_outstanding_phone_new;
create index concurrently receipts_outstanding_phone_new on receipts (business_id, phone_key(mobile), (case when phone_key(mobile) is null then patient_oid end))
  where (amount_due > 0 or carried is not null) and deleted_at is null;
drop index concurrently if exists receipts_outstanding_phone;
alter index receipts_outstanding_phone_new rename to receipts_outstanding_phone;
drop index concurrently if exists appointments_day_new;
create index concurrently appointments_day_new on appointments (business_id, reporting.day(coalesce(created_at, first_event_time, event_time)));
drop index concurrently if exists appointments_day;
alter index appointments_day_new rename to appointments_day;
