-- The gaps between the times in which receivers accepted callbacks. An outage is listed two minutes after its end: until then
-- another receiver, which PostgreSQL was unavailable to, may still record that it accepted callbacks.
create or replace view reporting.outages as
select
  began as from_at, ended as until_at, reporting.day(began) as day,
  round(extract(epoch from ended - began) / 60)::integer as minutes
from (
  select max(until_at) over (order by from_at rows between unbounded preceding and 1 preceding) as began, from_at as ended
  from uptime
) gaps
where ended > began and ended < now() - interval '2 minutes';

comment on view reporting.outages is 'The times of more than three minutes in which no receiver accepted callbacks, after the first that ever did; one that goes on is not listed';
comment on column reporting.outages.from_at  is 'When the last receiver last accepted callbacks, to the minute';
comment on column reporting.outages.until_at is 'When the first one accepted callbacks again';
comment on column reporting.outages.day      is 'The day on which it began';
comment on column reporting.outages.minutes  is 'How long it was';
