-- no transaction
drop index concurrently if exists admissions_terms;
create index concurrently admissions_terms on admissions using gin (person_terms_of(patient));
drop index concurrently if exists bookings_terms;
create index concurrently bookings_terms on bookings using gin ((person_terms_of(billing) || person_terms_of(patient)));
-- A sample in pg_stats would keep what was erased.
alter index admissions_terms alter column 1 set statistics 0;
alter index bookings_terms alter column 1 set statistics 0;
