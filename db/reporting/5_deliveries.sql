-- Callbacks, and whether the reports are complete.

create or replace view reporting.deliveries as
select i.id as delivery_id, i.family, i.event, i.business_id, i.client_id,
       case when i.family = 'receipt' then i.record_id::bigint end as receipt_id, i.event_time,
       case when p.id is null then 'applied' when p.next_at = 'infinity' then 'failed' else 'received' end as status, p.error,
       i.received_at, reporting.day(i.received_at) as day, reporting.hour(i.received_at) as hour, coalesce(r.count, 0) as duplicates,
       coalesce(r.last_at, i.received_at) as last_received_at,
       case when i.event = i.family || '.reconciled' then 'reconcile' else 'callback' end as source
from receiver.inbox i
left join receiver.pending_deliveries p on p.id = i.id
left join receiver.resends r on r.id = i.id;

create or replace view reporting.quarantine as
select id as quarantine_id, family, business_id, reason, received_at, reporting.day(received_at) as day,
       reporting.hour(received_at) as hour, last_received_at, count as times_received, replayed_at
from receiver.quarantine;

-- What the reconciliation has made is counted apart: nobody has sent it.
create or replace view reporting.deliveries_daily as
select business_id, family, day,
       count(*) filter (where source = 'callback') as received,
       count(*) filter (where source = 'callback' and status = 'applied') as applied,
       count(*) filter (where source = 'callback' and status = 'failed') as failed,
       count(*) filter (where source = 'callback' and status = 'received') as waiting,
       count(*) filter (where status = 'quarantined') as quarantined,
       coalesce(sum(duplicates), 0)::bigint as duplicates,
       count(*) filter (where source = 'reconcile') as reconciled
from (
  select business_id, family, day, status, duplicates, source from reporting.deliveries
  union all
  select business_id, family, day, 'quarantined', null, null from reporting.quarantine where replayed_at is null
) arrivals
group by business_id, family, day;

create or replace view reporting.schema_drift as
select key::jsonb->>0 as event, key::jsonb->>1 as field, key::jsonb->>2 as kind, nullif(key::jsonb->>3, '') as value, count,
       first_at as first_seen, last_at as last_seen, example as example_delivery
from receiver.counters
where name = 'drift';

-- Entries of health accounts are health records.
create or replace view reporting.other_events as
select business_id, delivery_id, reporting.day(event_time) as day, event_time, last_event as event, client_id,
       (select min(substr(s, 12)) from receiver.inbox i cross join unnest(i.subjects) s
        where i.id = o.delivery_id and s like 'p:platform:%') as patient_id,
       case when last_event like 'abha.%' then extra - 'entries' else extra end as data
from public.other_events o
where deleted_at is null;

-- Clinics are closed at night and on Sundays, so a gap is compared with the same period of the week in the four weeks before the
-- last callback: as many callbacks are expected now as were received then. If five are expected and none is received, the
-- probability of that by chance is below 1 %. A business that has sent nothing for 90 days is considered inactive. A callback that
-- came more than a day late, such as those of a history, counts at the time of its event: by its arrival, every business that a
-- history has would have sent just now.
create or replace view reporting.silence as
with arrivals as (
  select business_id, family, received_at, case when event_time < received_at - interval '1 day' then event_time else received_at end as at
  from reporting.deliveries where source = 'callback' and day >= reporting.today() - 118
), sent as (
  select business_id, family, max(received_at) as received, max(at) as last, now() - max(at) as gap,
         extract(epoch from now() - max(at)) / 604800 as gap_weeks,
         least(4, floor(extract(epoch from max(at) - min(at)) / 604800)) as weeks
  from arrivals group by business_id, family having max(at) > now() - interval '90 days'
), counted as (
  -- Of a callback that came 3.2 weeks before the last one: 4 weeks before began the period, and 0.8 weeks later it came.
  select s.*,
         count(*) filter (where before.weeks < s.weeks and before.weeks + 1 - before.exactly <= least(s.gap_weeks, 1)) as earlier
  from sent s
  join arrivals a using (business_id, family)
  cross join lateral (select extract(epoch from s.last - a.at) / 604800 as exactly) past
  cross join lateral (select past.exactly, floor(past.exactly) as weeks) before
  group by business_id, family, s.received, s.last, s.gap, s.gap_weeks, s.weeks
)
select business_id, family, received as last_received_at, gap as present_gap, round(expected, 1) as expected_callbacks,
       expected >= 5 as out_of_the_ordinary
from counted
-- A gap of more than a week: by the average of the weeks. Less than a week of callbacks: nothing is expected yet.
cross join lateral (select earlier / nullif(weeks, 0) * greatest(1, gap_weeks) as expected) e;

-- An outage is listed two minutes after its end: until then another receiver may still record that it could take callbacks.
create or replace view reporting.outages as
select from_at, until_at, reporting.day(from_at) as day, round(extract(epoch from until_at - from_at) / 60)::integer as minutes
from (select lag(at) over (order by at) as from_at, at as until_at from receiver.heartbeats) beats
where until_at > from_at + interval '3 minutes' and until_at < now() - interval '2 minutes';

create or replace view reporting.aliases as
select kind, id, alias, updated_at, case updated_by when 'platform' then 'platform' else 'person' end as source
from receiver.aliases
where alias is not null;

comment on view reporting.deliveries       is 'Every acknowledged callback, without its content, and what the reconciliation has made';
comment on view reporting.quarantine       is 'Rejected callbacks, without their content';
comment on view reporting.deliveries_daily is 'Counts of the callbacks of each day, by business and family';
comment on view reporting.schema_drift     is 'Differences between callbacks and the documented interface: unknown fields, missing fields, new values, values that do not fit';
comment on view reporting.other_events     is 'Events that no family lists, with their data but health records';
comment on view reporting.silence          is 'Time since the last callback of each business and family, by its event where it came more than a day late, and whether it is out of the ordinary; without those that have sent nothing for 90 days';
comment on view reporting.outages          is 'The times of more than three minutes in which no receiver could take callbacks, after the first in which one could; one that goes on is not listed';
comment on view reporting.aliases          is 'Names for the ids of businesses, clinics and doctors, as they were entered, imported, or taken from the platform''s directory';
