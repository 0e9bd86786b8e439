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

-- The business and the times are those of applied_deliveries, which has an index on them.
create or replace view reporting.deliveries as
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
left join reconciled_deliveries m using (id)
union all
select
  id, family, event, business_id, client_id,
  case when family = 'receipt' then reporting.receipt_id(envelope) end,
  event_time, status, error, received_at, reporting.day(received_at),
  reporting.hour(received_at), applied_at, delivery_count - 1, last_received_at, source
from stated_deliveries
where status <> 'applied';

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

-- What the reconciliation has made is counted apart: nobody has sent it.
create or replace view reporting.deliveries_daily as
select
  business_id, family, day,
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
  select business_id, coalesce(family, 'unknown'), day, 'quarantined', null, null from reporting.quarantine where replayed_at is null
) arrivals
group by business_id, family, day;

comment on view deliveries                   is 'Every acknowledged callback, once, and what the reconciliation has made. The tables behind it: inbox, pending_deliveries, applied_deliveries, failed_deliveries, resends';
comment on view stated_deliveries            is 'The view deliveries without those that lost their state, which wait to be pending again: read it to look for deliveries by anything but their ids';
comment on view senders                      is 'Every business that has sent something which was applied';
comment on view reporting.deliveries         is 'Every accepted callback, without its content';
comment on view reporting.quarantine         is 'Rejected callbacks, without their content';
comment on view reporting.schema_drift       is 'Differences between callbacks and the documented interface: unknown fields, missing fields, new values';
comment on view reporting.other_events       is 'Events that no family lists yet, with their data; replaying them gives them their rows once a family does';
comment on view reporting.deliveries_daily   is 'Counts of the callbacks of each day, by business and family';
