-- no transaction
-- For the sums of a day of a business.
drop index concurrently if exists payment_requests_business_day;
create index concurrently payment_requests_business_day on payment_requests (business_id, reporting.day(event_time));
