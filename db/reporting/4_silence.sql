-- Clinics are closed at night and on Sundays, so a gap is compared with the same period of the week in the four
-- weeks before the last callback: as many callbacks are expected now as were received then. If five are expected
-- and none is received, the probability of that by chance is below 1 %.
create or replace view reporting.silence as
select
  b.business_id, sent.family, sent.last as last_received_at, usual.gap as usual_gap,
  usual.longest as longest_gap, present.gap as present_gap, round(expected.callbacks, 1) as expected_callbacks,
  expected.callbacks >= 5 as out_of_the_ordinary
from (
  select business_id from senders
  union
  select business_id from deliveries where status <> 'applied'
) b
cross join lateral (
  -- A business that has sent nothing for 90 days is considered inactive. Its days are looked up in the kept sums.
  select family, max(last) as last, extract(epoch from max(last) - min(first)) as seconds
  from (
    select days.family,
           (select max(d.received_at) from applied_deliveries d
            where d.business_id = b.business_id and d.family = days.family
              and reporting.day(d.received_at) = days.last_day
              and not exists (select from reconciled_deliveries m where m.id = d.id)) as last,
           (select min(d.received_at) from applied_deliveries d
            where d.business_id = b.business_id and d.family = days.family
              and reporting.day(d.received_at) = days.first_day
              and not exists (select from reconciled_deliveries m where m.id = d.id)) as first
    from (
      select sent.family, min(sent.day) as first_day, max(sent.day) as last_day
      from (
        select s.family, s.day
        from (
          select family, day, deliveries from summed_deliveries
          where business_id = b.business_id and day >= reporting.today() - 90 - 28
          union all
          -- Nobody has sent these.
          select a.family, reporting.day(a.received_at), -1
          from reconciled_deliveries m join applied_deliveries a using (id)
          where a.business_id = b.business_id and reporting.day(a.received_at) >= reporting.today() - 90 - 28
        ) s
        group by s.family, s.day
        having sum(s.deliveries) > 0
      ) sent
      group by sent.family
    ) days
    union all
    select d.family, d.received_at, d.received_at
    from deliveries d
    where d.business_id = b.business_id and d.status <> 'applied' and d.source = 'callback'
      and reporting.day(d.received_at) >= reporting.today() - 90 - 28
  ) of_family
  group by family
  having max(last) > now() - interval '90 days'
) sent
cross join lateral (
  select now() - sent.last as gap, least(4, floor(sent.seconds / 604800)) as weeks
) present
cross join lateral (
  select
    percentile_disc(0.5) within group (order by gap) as gap, max(gap) as longest, count(*) as callbacks,
    count(*) filter (where received_at > sent.last - present.weeks * interval '168 hours'
                       and into_week > interval '0' and into_week < present.gap) as in_stretch
  from (
    select d.received_at, d.received_at - lag(d.received_at) over (order by d.received_at) as gap,
           -- The position in a week that begins when the silence began.
           d.received_at - date_bin('7 days', d.received_at, sent.last) as into_week
    from reporting.deliveries d
    where d.business_id = b.business_id and d.family = sent.family and d.source = 'callback'
      and d.day >= reporting.day(sent.last - interval '28 days')
      and d.received_at > sent.last - interval '28 days'
  ) gaps
) usual
cross join lateral (
  select case
    when present.weeks = 0 then null
    when present.gap < interval '7 days' then usual.in_stretch / present.weeks
    else usual.callbacks * extract(epoch from present.gap) / least(sent.seconds, 2419200)
  end as callbacks
) expected;

comment on view reporting.silence is 'Time since the last callback of each business and family, and whether it is out of the ordinary; without those that have sent nothing for 90 days';
comment on column reporting.silence.business_id         is 'The business, by its id in the platform';
comment on column reporting.silence.family              is 'The family of its events, such as receipt';
comment on column reporting.silence.last_received_at    is 'When the last callback was first received';
comment on column reporting.silence.usual_gap           is 'The median gap between callbacks in the 28 days before the last one';
comment on column reporting.silence.longest_gap         is 'The longest gap of those 28 days';
comment on column reporting.silence.present_gap         is 'The time since the last callback';
comment on column reporting.silence.expected_callbacks  is 'The number of callbacks expected since then: the average of the same period of the week in the four weeks before (after seven days of silence: of the whole 28 days); null: less than a week of callbacks';
comment on column reporting.silence.out_of_the_ordinary is 'Whether at least five callbacks were expected; null: less than a week of callbacks';
