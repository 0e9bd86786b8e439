-- no transaction
-- For reporting.schedule.
drop index concurrently if exists appointments_start;
create index concurrently appointments_start on appointments (reporting.day(start_of(extra))) where extra ? 'start_time';
-- Kept sums and visits were made by them.
drop index concurrently if exists receipts_appointment;
drop index concurrently if exists receipts_outstanding_phone;
