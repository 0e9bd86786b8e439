-- What the reports rest on: which days were compared with the platform, and what was found. Appointments can be compared;
-- what the platform does not let anybody read is unverifiable, unless other records name what never came.
create or replace view reporting.completeness as
select
  d.business_id, d.family, d.day, 'reconciled' as method, d.complete_as_of, made.missing as missing_found,
  made.missing_filled, made.differing as differing_found, made.differing_filled, unknown.records as unknown_to_platform
from reconciled_days d
-- Day by day: a page asks for few of them.
cross join lateral (
  select
    count(*) filter (where m.compared_with is null) as missing,
    count(a.id) filter (where m.compared_with is null) as missing_filled,
    count(m.compared_with) as differing,
    count(a.id) filter (where m.compared_with is not null) as differing_filled
  from reconciled_deliveries m left join applied_deliveries a using (id)
  where m.business_id = d.business_id and m.family = d.family and m.day = d.day
) made
cross join lateral (
  select count(*) as records from unknown_records u
  where u.business_id = d.business_id and u.family = d.family and u.day = d.day
) unknown
union all
select
  business_id, family, day, case when sum(missing) > 0 then 'inferred' else 'unverifiable' end, null, sum(missing)::bigint,
  sum(filled)::bigint, 0, 0, 0
from (
  select business_id, family, day, 0 as missing, 0 as filled
  from reporting.deliveries_daily
  where received > 0 and family <> 'appointment'
  union all
  select business_id, family, day, missing, 0 from inferred_days
  union all
  select m.business_id, m.family, m.day, 1, case when a.id is null then 0 else 1 end
  from reconciled_deliveries m left join applied_deliveries a using (id)
  where m.family <> 'appointment'
) others
group by business_id, family, day;

comment on view reporting.completeness is 'Whether records of a day are complete: compared with the platform, with what was found; inferred to be incomplete, because other records name what never came; or unverifiable, because the platform does not let anybody read them';
comment on column reporting.completeness.business_id         is 'The business, by its id in the platform';
comment on column reporting.completeness.family              is 'The family of the records, such as appointment';
comment on column reporting.completeness.day                 is 'The day: of appointments the one on which they take place; of others the one on which callbacks came, or of what names a missing record';
comment on column reporting.completeness.method              is 'reconciled: compared with the platform; inferred: incomplete, because other records name what never came; unverifiable: the platform does not let anybody read them';
comment on column reporting.completeness.complete_as_of      is 'When the platform was asked; null: it was not';
comment on column reporting.completeness.missing_found       is 'Records that the platform has, or that others name, and that no callback had told of';
comment on column reporting.completeness.missing_filled      is 'How many of them are in their table since';
comment on column reporting.completeness.differing_found     is 'Differences between a record and the platform, in its status or times';
comment on column reporting.completeness.differing_filled    is 'How many of them were changed to what the platform says';
comment on column reporting.completeness.unknown_to_platform is 'Records booked on this day that the platform does not know; they stay as they are';
