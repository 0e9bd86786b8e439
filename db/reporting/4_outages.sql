-- The gaps between the times in which receivers accepted callbacks. An outage is listed two minutes after its end: until then
-- another receiver, which PostgreSQL was unavailable to, may still record that it accepted callbacks.
create or replace view reporting.outages as
select
  from_at, until_at, reporting.day(from_at) as day, round(extract(epoch from until_at - from_at) / 60)::integer as minutes
from (
  select max(until_at) over (order by from_at rows between unbounded preceding and 1 preceding) as from_at, from_at as until_at
  from uptime
) gaps
where until_at > from_at and until_at < now() - interval '2 minutes';

comment on view reporting.outages is 'The times of more than three minutes in which no receiver accepted callbacks, after the first that ever did; one that goes on is not listed';
