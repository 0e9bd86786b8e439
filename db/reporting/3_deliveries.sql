-- Deliveries, quarantine, schema drift and unknown events: whether the reports are complete.

-- The status of a delivery is the table that it is in. PostgreSQL reads only the tables whose status and columns a query
-- asks for.
create or replace view stated_deliveries as
select
  id, i.event, s.family, i.client_id, i.business_id, i.event_time, i.envelope, s.status, s.error,
  1 + coalesce(r.count, 0) as delivery_count, s.received_at,
  coalesce(r.last_received_at, s.received_at) as last_received_at, s.applied_at,
  i.envelope->>'service' as service, i.envelope->>'transaction_id' as transaction_id,
  i.envelope->>'partition_id' as partition_id,
  case when i.event = s.family || '.reconciled' then 'reconcile' else 'callback' end as source
from (
  select id, family, 'applied' as status, null::text as error, received_at, applied_at from applied_deliveries
  union all
  select id, family, 'received', null, received_at, null from pending_deliveries
  union all
  select id, family, 'failed', error, received_at, applied_at from failed_deliveries
) s
left join inbox i using (id)
left join resends r using (id);

-- With those that lost their state, which wait to be pending again. To find these without their ids, all of inbox is read:
-- what is not about some ids reads stated_deliveries.
create or replace view deliveries as
select
  id, event, family, client_id, business_id, event_time, envelope, status, error, delivery_count, received_at, last_received_at,
  applied_at, service, transaction_id, partition_id, source
from stated_deliveries
union all
select
  i.id, i.event, i.family, i.client_id, i.business_id, i.event_time, i.envelope, 'received', null,
  1 + coalesce(r.count, 0), i.received_at, coalesce(r.last_received_at, i.received_at), null,
  i.envelope->>'service', i.envelope->>'transaction_id', i.envelope->>'partition_id',
  case when i.event = i.family || '.reconciled' then 'reconcile' else 'callback' end
from inbox i
left join resends r using (id)
where not exists (select from applied_deliveries s where s.id = i.id)
  and not exists (select from pending_deliveries s where s.id = i.id)
  and not exists (select from failed_deliveries s where s.id = i.id);

create or replace trigger delete_delivery instead of delete on deliveries
  for each row execute function delete_delivery();

-- The business and the times are those of applied_deliveries, which has an index on them.
create or replace view reporting.applied_deliveries as
select
  id as delivery_id, a.family, i.event, a.business_id, i.client_id,
  case when a.family = 'receipt' then reporting.receipt_id(i.envelope) end as receipt_id,
  a.event_time, 'applied' as status, null::text as error, a.received_at, reporting.day(a.received_at) as day,
  reporting.hour(a.received_at) as hour, a.applied_at, coalesce(r.count, 0) as duplicates,
  coalesce(r.last_received_at, a.received_at) as last_received_at,
  -- Not by the event: that would take a look into inbox for each.
  case when m.id is null then 'callback' else 'reconcile' end as source
from applied_deliveries a
left join inbox i using (id)
left join resends r using (id)
left join reconciled_deliveries m using (id);

-- Jumps from one business to the next in the index (a loose index scan) instead of reading every delivery.
create or replace view senders as
with recursive found as (
  (select business_id from applied_deliveries order by business_id limit 1)
  union all
  select (select a.business_id from applied_deliveries a
          where a.business_id > found.business_id
          order by a.business_id limit 1)
  from found where found.business_id is not null
)
select business_id from found where business_id is not null;

create or replace view reporting.deliveries as
select * from reporting.applied_deliveries
union all
select
  id, family, event, business_id, client_id,
  case when family = 'receipt' then reporting.receipt_id(envelope) end,
  event_time, status, error, received_at, reporting.day(received_at),
  reporting.hour(received_at), applied_at, delivery_count - 1, last_received_at, source
from stated_deliveries
where status <> 'applied';

-- For the consoles of former versions during an upgrade: the table has the business.
create or replace function reporting.business_in(body bytea) returns text
  language sql immutable strict parallel safe
  return substring(encode(body, 'escape') from '"business_id"\s*:\s*"([^"\\]{1,200})"');

create or replace view reporting.quarantine as
select
  q.id as quarantine_id, p.family, q.business_id, q.reason, q.received_at,
  reporting.day(q.received_at) as day, reporting.hour(q.received_at) as hour, q.last_received_at,
  q.count as times_received, q.replayed_at
from quarantine q
left join callback_paths p using (path);

create or replace view reporting.schema_drift as
select event, field, kind, nullif(value, '') as value, count, first_seen, last_seen, example_delivery
from schema_drift;

create or replace function reporting.without_health_records(data jsonb) returns jsonb
  language sql immutable parallel safe
  return case jsonb_typeof(data -> 'entries')
    when 'array' then jsonb_set(data, '{entries}', (
      select coalesce(jsonb_agg(case jsonb_typeof(entry)
        when 'object' then jsonb_set(entry, '{content}', '"[redacted]"', false) else entry
      end order by place), '[]')
      from jsonb_array_elements(data -> 'entries') with ordinality as entries (entry, place)
    ))
    else data
  end;
comment on function reporting.without_health_records is 'The data of a callback without the content of its health records';

-- The day is that of the event, which has an index. The patient is for the access log: no column has it.
create or replace view reporting.other_events as
select
  business_id, delivery_id, reporting.day(event_time) as day, event_time, last_event as event, client_id,
  patient_of(jsonb_build_object('data', extra)) as patient_id,
  case when last_event like 'abha.%' then reporting.without_health_records(extra) else extra end as data
from other_events
where deleted_at is null;

create or replace view reporting.delivery_health as
select
  business_id, family, day, hour,
  count(*) filter (where source = 'callback') as received,
  count(*) filter (where source = 'callback' and status = 'applied') as applied,
  count(*) filter (where source = 'callback' and status = 'failed') as failed,
  count(*) filter (where source = 'callback' and status = 'received') as waiting,
  count(*) filter (where status = 'quarantined') as quarantined,
  coalesce(sum(duplicates), 0) as duplicates,
  min(received_at) filter (where source = 'callback' and status = 'received') as oldest_waiting,
  round(extract(epoch from avg(arrival_lag)), 3) as arrival_lag_average_seconds,
  round(extract(epoch from max(arrival_lag)), 3) as arrival_lag_longest_seconds,
  round(extract(epoch from avg(row_lag)), 3) as row_lag_average_seconds,
  round(extract(epoch from max(row_lag)), 3) as row_lag_longest_seconds,
  count(*) filter (where source = 'reconcile') as reconciled
from (
  select business_id, family, day, hour, status, duplicates, received_at,
         case when source = 'callback' and isfinite(event_time) then received_at - event_time end as arrival_lag,
         applied_at - received_at as row_lag,
         source
  from reporting.deliveries
  union all
  select business_id, coalesce(family, 'unknown'), day, hour, 'quarantined', null, received_at, null, null, null
  from reporting.quarantine
  where replayed_at is null
) arrivals
group by business_id, family, day, hour;

-- Applied deliveries: kept for the days that did not change since they were counted, see write_summed_view. Those that the
-- reconciliation has made are counted apart, and nobody has sent them.
create or replace view live_deliveries as
select
  business_id, family, day, count(*) filter (where not is_reconciled) as deliveries,
  coalesce(sum(duplicates), 0)::bigint as duplicates,
  min(received_at) filter (where not is_reconciled) as first_received_at,
  max(received_at) filter (where not is_reconciled) as last_received_at,
  percentile_disc(0.5) within group (order by gap) filter (where not is_reconciled) as median_gap,
  max(gap) filter (where not is_reconciled) as longest_gap, count(*) filter (where is_reconciled) as reconciled
from (
  select
    business_id, family, day, duplicates, received_at, is_reconciled,
    received_at - lag(received_at) over (partition by business_id, family, day, is_reconciled order by received_at) as gap
  from (
    select a.business_id, a.family, reporting.day(a.received_at) as day, r.count as duplicates, a.received_at,
           m.id is not null as is_reconciled
    from applied_deliveries a
    left join resends r using (id)
    left join reconciled_deliveries m using (id)
  ) of_days
) arrivals
group by business_id, family, day;

select write_summed_view('deliveries', 'deliveries', 'outdated');
select write_live_sums('delivery_months', 'summed_deliveries', 'month_of(day)', 'business_id', 'family', 'day');
select write_summed_view('deliveries', 'delivery_months', 'outdated_months');

-- Several rows for a business, family and day.
create or replace view counted_others as
select business_id, family, reporting.day(received_at) as day, is_callback as received, 0 as applied,
       is_callback * (status = 'failed')::integer as failed, is_callback * (status = 'received')::integer as waiting,
       0 as quarantined, delivery_count - 1 as duplicates, 1 - is_callback as reconciled
from stated_deliveries cross join lateral (select (source = 'callback')::integer as is_callback) sources
where status <> 'applied'
union all
select business_id, coalesce(family, 'unknown'), day, 0, 0, 0, 0, 1, 0, 0 from reporting.quarantine where replayed_at is null;

create or replace view counted_deliveries as
select business_id, family, day, deliveries as received, deliveries as applied, 0 as failed, 0 as waiting, 0 as quarantined,
       duplicates, reconciled
from summed_deliveries
union all
select business_id, family, day, received, applied, failed, waiting, quarantined, duplicates, reconciled from counted_others;

create or replace view counted_delivery_months as
select business_id, family, day, deliveries as received, deliveries as applied, 0 as failed, 0 as waiting, 0 as quarantined,
       duplicates, reconciled
from summed_delivery_months
union all
select business_id, family, month_of(day), received, applied, failed, waiting, quarantined, duplicates, reconciled
from counted_others;

create or replace view reporting.deliveries_daily as
select
  business_id, family, day, sum(received)::bigint as received, sum(applied)::bigint as applied, sum(failed)::bigint as failed,
  sum(waiting)::bigint as waiting, sum(quarantined)::bigint as quarantined, sum(duplicates)::bigint as duplicates,
  sum(reconciled)::bigint as reconciled
from counted_deliveries
group by business_id, family, day;

comment on view deliveries                   is 'Every acknowledged callback, once, and what the reconciliation has made. The tables behind it: inbox, pending_deliveries, applied_deliveries, failed_deliveries, resends';
comment on view stated_deliveries            is 'The view deliveries without those that lost their state, which wait to be pending again: read it to look for deliveries by anything but their ids';
comment on view senders                      is 'Every business that has sent something which was applied';
comment on column senders.business_id        is 'The business, by its id in the platform';
comment on view reporting.deliveries         is 'Every accepted callback, without its content';
comment on view reporting.applied_deliveries is 'The deliveries that are applied to their tables';
comment on view reporting.quarantine         is 'Rejected callbacks, without their content';
comment on view reporting.schema_drift       is 'Differences between callbacks and the documented interface: unknown fields, missing fields, new values';
comment on view reporting.other_events       is 'Events that no family lists yet, with their data; replaying them gives them their rows once a family does';
comment on view reporting.delivery_health    is 'Counts and delays of the callbacks of each hour, by business and family';
comment on view reporting.deliveries_daily   is 'Counts of the callbacks of each day, by business and family';
comment on function reporting.business_in    is 'The business id in a body; null if it cannot be read';

comment on column deliveries.id             is 'Derived from the event time and the content, so that a resend has the same id';
comment on column deliveries.envelope       is 'The callback as received';
comment on column deliveries.status         is 'received: not applied to its table yet, or without a state, which a worker restores; applied: in its table; failed: its data caused an error, see error';
comment on column deliveries.delivery_count is 'How often it was received';
comment on column deliveries.service        is 'The part of the platform that sent it; null: not named';
comment on column deliveries.transaction_id is 'What the platform calls the transaction; several callbacks may have the same';
comment on column deliveries.partition_id   is 'What the platform calls the partition';
comment on column deliveries.source         is 'callback: the platform sent it; reconcile: the receiver read it from the platform, because it was missing or differed';

comment on column reporting.deliveries.delivery_id      is 'The delivery; a resend has the same id';
comment on column reporting.deliveries.family           is 'The family of its event, such as receipt; other: an event that no family lists';
comment on column reporting.deliveries.event            is 'The event, such as receipt.created';
comment on column reporting.deliveries.business_id      is 'The business, by its id in the platform';
comment on column reporting.deliveries.client_id        is 'The client of the platform that sent it';
comment on column reporting.deliveries.receipt_id       is 'The receipt id; null in other families';
comment on column reporting.deliveries.event_time       is 'When the event happened';
comment on column reporting.deliveries.status           is 'received: not applied to its table yet; applied: in its table; failed: its data caused an error, see error';
comment on column reporting.deliveries.error            is 'Why it failed; null if it did not';
comment on column reporting.deliveries.received_at      is 'When it was first received';
comment on column reporting.deliveries.day              is 'The day on which it was first received';
comment on column reporting.deliveries.hour             is 'The hour in which it was first received';
comment on column reporting.deliveries.applied_at       is 'When it was applied to its table';
comment on column reporting.deliveries.duplicates       is 'Number of resends received';
comment on column reporting.deliveries.last_received_at is 'When it was last received';
comment on column reporting.deliveries.source           is 'callback: the platform sent it; reconcile: the receiver read it from the platform, because it was missing or differed';

select copy_column_comments('reporting.deliveries', 'reporting.applied_deliveries', 'reporting.quarantine');

comment on column reporting.quarantine.quarantine_id  is 'The rejected callback';
comment on column reporting.quarantine.family         is 'The family of the path that it was sent to; other: the path for every event; null: no family has this path';
comment on column reporting.quarantine.business_id    is 'The business id; null if it cannot be read';
comment on column reporting.quarantine.reason         is 'Why it was rejected';
comment on column reporting.quarantine.times_received is 'How often it was received';
comment on column reporting.quarantine.replayed_at    is 'When it was replayed; null: not replayed';

comment on column reporting.schema_drift.event            is 'The event of the callbacks';
comment on column reporting.schema_drift.field            is 'The field, as a JSON pointer into the callback; /event: no family lists the event';
comment on column reporting.schema_drift.kind             is 'unknown: not documented; missing: documented but absent; value: a new short text; other: all others, beyond the limit of rows per event';
comment on column reporting.schema_drift.value            is 'The new value, if kind is value';
comment on column reporting.schema_drift.count            is 'Number of callbacks; if kind is other, number of differences';
comment on column reporting.schema_drift.first_seen       is 'When it was first seen';
comment on column reporting.schema_drift.last_seen        is 'When it was last seen';
comment on column reporting.schema_drift.example_delivery is 'A delivery with this difference';

select copy_column_comments('reporting.deliveries', 'reporting.other_events');

comment on column reporting.other_events.day        is 'The day of the event';
comment on column reporting.other_events.patient_id is 'The patient, if the data names one in a known spelling';
comment on column reporting.other_events.data       is 'The data of the callback, without the content of health records';

comment on column reporting.delivery_health.business_id                 is 'The business id; of a quarantined callback null if it cannot be read';
comment on column reporting.delivery_health.family                      is 'The family of their events, such as receipt; unknown: quarantined, sent to a path of no family';
comment on column reporting.delivery_health.day                         is 'The day on which they were received; a condition on it is faster than one on the hour';
comment on column reporting.delivery_health.hour                        is 'The hour in which they were received';
comment on column reporting.delivery_health.received                    is 'Accepted callbacks';
comment on column reporting.delivery_health.applied                     is 'Accepted callbacks that are applied to their tables';
comment on column reporting.delivery_health.failed                      is 'Accepted callbacks that failed because of their data';
comment on column reporting.delivery_health.waiting                     is 'Accepted callbacks that are not applied yet';
comment on column reporting.delivery_health.quarantined                 is 'Rejected callbacks that have not been replayed; not included in received';
comment on column reporting.delivery_health.duplicates                  is 'Resends of accepted callbacks';
comment on column reporting.delivery_health.oldest_waiting              is 'When the oldest of the waiting callbacks was received';
comment on column reporting.delivery_health.arrival_lag_average_seconds is 'Average time from event to arrival; event times are in whole seconds';
comment on column reporting.delivery_health.arrival_lag_longest_seconds is 'Longest time from event to arrival';
comment on column reporting.delivery_health.row_lag_average_seconds     is 'Average time from arrival to row';
comment on column reporting.delivery_health.row_lag_longest_seconds     is 'Longest time from arrival to row';
comment on column reporting.delivery_health.reconciled                  is 'Deliveries that the reconciliation has made; not included in received';

select copy_column_comments('reporting.delivery_health', 'reporting.deliveries_daily');
comment on column reporting.deliveries_daily.day is 'The day on which they were received';
