-- Deliveries, quarantine and schema drift: whether the reports are complete.

-- The status is a constant here because the index that could give the rest does not hold it.
create or replace view reporting.applied_deliveries as
select
  id as delivery_id, family, event, business_id, client_id,
  case when family = 'receipt' then reporting.receipt_id(envelope) end as receipt_id,
  event_time, 'applied' as status, null::text as error, received_at, reporting.day(received_at) as day,
  reporting.hour(received_at) as hour, applied_at, delivery_count - 1 as duplicates, last_received_at
from deliveries
where status = 'applied';

-- In two parts because each has an index of its own: what is applied, and the little that is not.
create or replace view reporting.deliveries as
select * from reporting.applied_deliveries
union all
select
  id, family, event, business_id, client_id,
  case when family = 'receipt' then reporting.receipt_id(envelope) end,
  event_time, status, error, received_at, reporting.day(received_at),
  reporting.hour(received_at), applied_at, delivery_count - 1, last_received_at
from deliveries
where status <> 'applied';

-- The body of what did not fit may be anything; escaped, its bytes can be searched whatever they are.
create or replace function reporting.business_in(body bytea) returns text
  language sql immutable strict parallel safe
  return substring(encode(body, 'escape') from '"business_id"\s*:\s*"([^"\\]{1,200})"');

create or replace view reporting.quarantine as
select
  q.id as quarantine_id, p.family, reporting.business_in(q.body) as business_id, q.reason, q.received_at,
  reporting.day(q.received_at) as day, reporting.hour(q.received_at) as hour, q.last_received_at,
  q.count as times_received, q.replayed_at
from quarantine q
left join callback_paths p using (path);

create or replace view reporting.schema_drift as
select event, field, kind, nullif(value, '') as value, count, first_seen, last_seen, example_delivery
from schema_drift;

create or replace view reporting.delivery_health as
select
  business_id, family, day, hour,
  count(*) filter (where status <> 'quarantined') as received,
  count(*) filter (where status = 'applied') as applied,
  count(*) filter (where status = 'failed') as failed,
  count(*) filter (where status = 'received') as waiting,
  count(*) filter (where status = 'quarantined') as quarantined,
  coalesce(sum(duplicates), 0) as duplicates,
  min(received_at) filter (where status = 'received') as oldest_waiting,
  round(extract(epoch from avg(arrival_lag)), 3) as arrival_lag_average_seconds,
  round(extract(epoch from max(arrival_lag)), 3) as arrival_lag_longest_seconds,
  round(extract(epoch from avg(row_lag)), 3) as row_lag_average_seconds,
  round(extract(epoch from max(row_lag)), 3) as row_lag_longest_seconds
from (
  select business_id, family, day, hour, status, duplicates, received_at,
         received_at - event_time as arrival_lag, applied_at - received_at as row_lag
  from reporting.deliveries
  union all
  select business_id, coalesce(family, 'unknown'), day, hour, 'quarantined', null, received_at, null, null
  from reporting.quarantine
  where replayed_at is null
) arrivals
group by business_id, family, day, hour;

comment on view reporting.deliveries         is 'Every accepted callback, without its content';
comment on view reporting.applied_deliveries is 'Those of the deliveries that are in their tables';
comment on view reporting.quarantine         is 'Rejected callbacks, without their content';
comment on view reporting.schema_drift       is 'Where callbacks differ from what the interface documents: fields that are unknown or missing, values never seen before';
comment on view reporting.delivery_health    is 'Counts and lags of the callbacks of each hour, by business and family';
comment on function reporting.business_in    is 'The business that a body names, as far as it can be read';

comment on column reporting.deliveries.delivery_id      is 'The delivery; a repetition has the same id';
comment on column reporting.deliveries.family           is 'receipt, consent_form or review_request';
comment on column reporting.deliveries.event            is 'Its kind, such as receipt.created';
comment on column reporting.deliveries.business_id      is 'The business, as the service names it';
comment on column reporting.deliveries.client_id        is 'The client of the service that sent it';
comment on column reporting.deliveries.receipt_id       is 'The receipt that it is about, where it is about one';
comment on column reporting.deliveries.event_time       is 'When the event happened';
comment on column reporting.deliveries.status           is 'received: not in its table yet; applied: in its table; failed: its data broke the statement, see error';
comment on column reporting.deliveries.error            is 'Why it failed';
comment on column reporting.deliveries.received_at      is 'When it first arrived';
comment on column reporting.deliveries.day              is 'The day of its arrival';
comment on column reporting.deliveries.hour             is 'The hour of its arrival';
comment on column reporting.deliveries.applied_at       is 'When it was applied to its table';
comment on column reporting.deliveries.duplicates       is 'How often it arrived again';
comment on column reporting.deliveries.last_received_at is 'When it last arrived';

select copy_column_comments('reporting.deliveries', 'reporting.applied_deliveries', 'reporting.quarantine');

comment on column reporting.quarantine.quarantine_id  is 'The rejected callback';
comment on column reporting.quarantine.family         is 'The family of the path that it was sent to; null: the path is not registered any more';
comment on column reporting.quarantine.business_id    is 'The business, as far as it can be read';
comment on column reporting.quarantine.reason         is 'Why it was rejected';
comment on column reporting.quarantine.times_received is 'How often it arrived';
comment on column reporting.quarantine.replayed_at    is 'When it was replayed; null: it was not';

comment on column reporting.schema_drift.event            is 'The event whose callbacks differ';
comment on column reporting.schema_drift.field            is 'The field, as a JSON pointer into the callback';
comment on column reporting.schema_drift.kind             is 'unknown: not documented; missing: documented but absent; value: a short text never seen before; other: further ones, beyond the limit of rows per event';
comment on column reporting.schema_drift.value            is 'The new value, where kind is value';
comment on column reporting.schema_drift.count            is 'How many callbacks; where kind is other, how many differences';
comment on column reporting.schema_drift.first_seen       is 'When it was first seen';
comment on column reporting.schema_drift.last_seen        is 'When it was last seen';
comment on column reporting.schema_drift.example_delivery is 'A delivery that shows it';

comment on column reporting.delivery_health.business_id                 is 'The business; of those in quarantine as far as it can be read';
comment on column reporting.delivery_health.family                      is 'receipt, consent_form or review_request; unknown: in quarantine, sent to a path that is not registered any more';
comment on column reporting.delivery_health.day                         is 'The day of arrival; a condition on it is quicker than one on the hour';
comment on column reporting.delivery_health.hour                        is 'The hour of arrival';
comment on column reporting.delivery_health.received                    is 'Callbacks accepted';
comment on column reporting.delivery_health.applied                     is 'Those of them that are in their tables';
comment on column reporting.delivery_health.failed                      is 'Those whose data broke the statement';
comment on column reporting.delivery_health.waiting                     is 'Those that are not in their tables yet';
comment on column reporting.delivery_health.quarantined                 is 'Rejected callbacks that have not been replayed; received does not count them';
comment on column reporting.delivery_health.duplicates                  is 'Repetitions of accepted callbacks';
comment on column reporting.delivery_health.oldest_waiting              is 'When the oldest of those that wait arrived';
comment on column reporting.delivery_health.arrival_lag_average_seconds is 'From event to arrival, on average; event times are in whole seconds';
comment on column reporting.delivery_health.arrival_lag_longest_seconds is 'From event to arrival, at worst';
comment on column reporting.delivery_health.row_lag_average_seconds     is 'From arrival to row, on average';
comment on column reporting.delivery_health.row_lag_longest_seconds     is 'From arrival to row, at worst';
