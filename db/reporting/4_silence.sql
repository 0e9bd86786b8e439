-- Clinics are closed at night and on Sundays, so a gap is compared with the same period of the week in the four
-- weeks before the last callback: as many callbacks are expected now as were received then. If five are expected
-- and none is received, the probability of that by chance is below 1 %.
create or replace view reporting.silence as
with days as (
  select business_id, family, first_received_at, last_received_at, deliveries, median_gap, longest_gap
  from summed_deliveries
  where day >= reporting.today() - 90 - 28 and deliveries > 0
  union all
  select business_id, family, min(received_at), max(received_at), count(*), null, null
  from stated_deliveries
  where status <> 'applied' and source = 'callback' and received_at >= now() - interval '118 days'
  group by business_id, family, reporting.day(received_at)
), recent as (
  select
    business_id, family, first, last, first_received_at, last_received_at, deliveries, median_gap, longest_gap,
    greatest(first_received_at - lag(last_received_at) over (partition by business_id, family order by first_received_at),
             interval '0') as gap_before
  from (
    select business_id, family, first_received_at, last_received_at, deliveries, median_gap, longest_gap,
           min(first_received_at) over (partition by business_id, family) as first,
           max(last_received_at) over (partition by business_id, family) as last
    from days
  ) known
  -- A business that has sent nothing for 90 days is considered inactive.
  where last > now() - interval '90 days' and last_received_at > last - interval '28 days'
), sent as (
  select business_id, family, max(first) as first, max(last) as last, sum(deliveries) as callbacks,
         greatest(max(longest_gap), max(gap_before)) as longest_gap,
         extract(epoch from max(last_received_at) - min(first_received_at)) as seconds, array_agg(median_gap) as medians,
         array_agg(deliveries - 1) as numbers, array_agg(gap_before) as gaps
  from recent
  group by business_id, family
)
select
  sent.business_id, sent.family, sent.last as last_received_at, usual.gap as usual_gap,
  sent.longest_gap, present.gap as present_gap, round(expected.callbacks, 1) as expected_callbacks,
  expected.callbacks >= 5 as out_of_the_ordinary
from sent
cross join lateral (
  select now() - sent.last as gap, least(4, floor(extract(epoch from sent.last - sent.first) / 604800))::integer as weeks
) present
cross join lateral (
  -- The median gap of a day counts as often as it has gaps.
  select min(gap) as gap
  from (
    select gap, sum(times) over (order by gap, times) as position, sum(times) over () as number
    from (
      select unnest(medians), unnest(numbers)
      union all
      select unnest(gaps), 1
    ) of_days (gap, times)
    where gap is not null
  ) gaps
  where position >= number / 2
) usual
cross join lateral (
  select case
    when present.weeks = 0 then null
    when present.gap < interval '7 days' then (
      select count(*)::numeric / present.weeks
      from generate_series(1, present.weeks) as week
      cross join lateral (select sent.last - week * interval '168 hours' as began) same_time
      join applied_deliveries a
        on a.business_id = sent.business_id and a.family = sent.family
        and reporting.day(a.received_at) between reporting.day(same_time.began) and reporting.day(same_time.began + present.gap)
        and a.received_at > same_time.began and a.received_at < same_time.began + present.gap
      where not exists (select from reconciled_deliveries m where m.id = a.id)
    )
    else sent.callbacks * extract(epoch from present.gap) / nullif(sent.seconds, 0)
  end as callbacks
  offset 0 -- counted once, for two columns
) expected;

comment on view reporting.silence is 'Time since the last callback of each business and family, and whether it is out of the ordinary; without those that have sent nothing for 90 days';
comment on column reporting.silence.business_id         is 'The business, by its id in the platform';
comment on column reporting.silence.family              is 'The family of its events, such as receipt';
comment on column reporting.silence.last_received_at    is 'When the last callback was first received';
comment on column reporting.silence.usual_gap           is 'About the median gap between callbacks in the 28 days before the last one: of the medians of these days, and the gaps between days';
comment on column reporting.silence.longest_gap         is 'The longest gap of those 28 days';
comment on column reporting.silence.present_gap         is 'The time since the last callback';
comment on column reporting.silence.expected_callbacks  is 'The number of callbacks expected since then: the average of the same period of the week in the four weeks before (after seven days of silence: of the whole 28 days); null: less than a week of callbacks';
comment on column reporting.silence.out_of_the_ordinary is 'Whether at least five callbacks were expected; null: less than a week of callbacks';
