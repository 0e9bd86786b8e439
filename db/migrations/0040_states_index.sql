-- no transaction
drop index concurrently if exists inbox_late;
-- What arrived more than a day after its event: the index of ids, which sort by it, does not find it among the newest.
create index concurrently inbox_late on inbox (received_at, id)
  where event_time at time zone 'UTC' < (received_at at time zone 'UTC') - interval '1 day';
