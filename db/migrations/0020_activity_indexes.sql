-- no transaction
-- For the sums of a day of a business.
drop index concurrently if exists consent_forms_business_day;
create index concurrently consent_forms_business_day on consent_forms (business_id, reporting.day(event_time));
drop index concurrently if exists review_requests_business_day;
create index concurrently review_requests_business_day on review_requests (business_id, reporting.day(event_time));
