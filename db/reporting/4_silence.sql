-- Clinics are closed at night and on Sundays, so a gap is compared with the same period of the week in the four
-- weeks before the last callback: as many callbacks are expected now as were received then. If five are expected
-- and none is received, the probability of that by chance is below 1 %.
create or replace view reporting.silence as
with arrivals as (
  select business_id, family, received_at, reporting.day(received_at) as day
  from applied_deliveries a
  where not exists (select from reconciled_deliveries m where m.id = a.id)
  union all
  select business_id, family, received_at, reporting.day(received_at) from stated_deliveries where status <> 'applied' and source = 'callback'
), sent as (
  select business_id, family, max(received_at) as last, min(received_at) as first
  from arrivals where day >= reporting.today() - 118
  group by business_id, family
)
select
  sent.business_id, sent.family, sent.last as last_received_at, present.gap as present_gap,
  round(expected.callbacks, 1) as expected_callbacks, expected.callbacks >= 5 as out_of_the_ordinary
from sent
cross join lateral (
  select now() - sent.last as gap, least(4, floor(extract(epoch from sent.last - sent.first) / 604800))::integer as weeks
) present
cross join lateral (
  -- Longer gaps: by the average of the four weeks.
  select case when present.weeks > 0 then count(a.*) / present.weeks * greatest(1, extract(epoch from present.gap) / 604800) end as callbacks
  from generate_series(1, present.weeks) as week
  cross join lateral (select sent.last - week * interval '168 hours' as began) same_time
  join arrivals a
    on a.business_id = sent.business_id and a.family = sent.family
    and a.day between reporting.day(same_time.began) and reporting.day(same_time.began + least(present.gap, interval '7 days'))
    and a.received_at > same_time.began and a.received_at <= same_time.began + least(present.gap, interval '7 days')
) expected
-- A business that has sent nothing for 90 days is considered inactive.
where sent.last > now() - interval '90 days';

comment on view reporting.silence is 'Time since the last callback of each business and family, and whether it is out of the ordinary; without those that have sent nothing for 90 days';
