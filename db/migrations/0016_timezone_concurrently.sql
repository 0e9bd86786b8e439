-- A change of the reports' time zone builds indexes anew one after the other, outside of a transaction, so that
-- callbacks are taken in meanwhile. Those that are still to be built are noted here, for the next start where
-- this one is interrupted.
create table stale_day_indexes (
  name text primary key
);

comment on table stale_day_indexes is 'Indexes on days of a former time zone of the reports; the service builds them anew when it starts';

-- The service does its work.
drop function reporting.set_timezone;

comment on function reporting.write_zone is 'Writes the functions that hold the time zone; indexes on days must be built anew after it';
