-- The gaps between the times in which receivers accepted callbacks. An outage is listed two minutes after its end: until then
-- another receiver, which PostgreSQL was unavailable to, may still record that it accepted callbacks.
create or replace view reporting.outages as
select
  from_at, until_at, reporting.day(from_at) as day, round(extract(epoch from until_at - from_at) / 60)::integer as minutes,
  case when is_compared then found.missing end as missing_found, case when is_compared then found.filled end as missing_filled
from (
  select max(until_at) over (order by from_at rows between unbounded preceding and 1 preceding) as from_at, from_at as until_at
  from uptime
) gaps
-- The id of a missing appointment's delivery begins with the time of its booking, in milliseconds.
cross join lateral (
  select array_agg(rpad(lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0'), 32, '0')::uuid order by at) as id
  from unnest(array[from_at, until_at]) as at
) bounds
cross join lateral (
  select
    count(m.id)::integer as missing, count(a.id)::integer as filled,
    exists (
      select from reconciliations r
      where r.ended_at is not null and r.started_at > gaps.until_at
        and r.from_day <= reporting.day(gaps.from_at) and r.to_day >= reporting.day(gaps.until_at)
    ) as is_compared
  from reconciled_deliveries m left join applied_deliveries a using (id)
  where m.family = 'appointment' and m.compared_with is null and m.id between bounds.id[1] and bounds.id[2]
) found
where until_at > from_at and until_at < now() - interval '2 minutes';

comment on view reporting.outages is 'The times of more than three minutes in which no receiver accepted callbacks, after the first that ever did; one that goes on is not listed';
comment on column reporting.outages.from_at        is 'When the last receiver last accepted callbacks, to the minute';
comment on column reporting.outages.until_at       is 'When the first one accepted callbacks again';
comment on column reporting.outages.day            is 'The day on which it began';
comment on column reporting.outages.minutes        is 'How long it was';
comment on column reporting.outages.missing_found  is 'Appointments booked in this time, by the platform''s clock, that the reconciliation found missing; null: these days were not compared since. Those that take place later are found when their day is compared';
comment on column reporting.outages.missing_filled is 'How many of them are in their table since';
