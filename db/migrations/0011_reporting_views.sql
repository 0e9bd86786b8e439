create view reporting.all_receipts as
select
  business_id, receipt_id, receipt_number,
  reporting.day(coalesce(created_at, event_time)) as day,
  coalesce(created_at, event_time) as issued_at,
  updated_at, deleted_at, clinic_id,
  doctor_oid as doctor_id, patient_oid as patient_id, name, mobile,
  receipt_status as status, receipt_amount as gross_amount, sku_discount_amount as item_discount_amount,
  additional_discount_type, additional_discount_value, additional_discount_amount,
  net_amount, amount_paid as paid_amount, amount_due as due_amount,
  payment_id, payment_link, ref_trx_id as transaction_reference, receipt_url as pdf_url,
  remarks, actor, flavour, archive, aid, client_id, last_event, event_time, delivery_id
from receipts;

create view reporting.receipts as
select
  business_id, receipt_id, receipt_number, day, issued_at, updated_at, clinic_id, doctor_id, patient_id, name,
  mobile, status, gross_amount, item_discount_amount, additional_discount_type, additional_discount_value,
  additional_discount_amount, net_amount, paid_amount, due_amount, payment_id, payment_link,
  transaction_reference, pdf_url, remarks, actor, flavour, archive, aid, client_id, last_event, event_time,
  delivery_id
from reporting.all_receipts
where deleted_at is null;

create view reporting.deleted_receipts as
select * from reporting.all_receipts where deleted_at is not null;

create view reporting.receipts_daily as
select
  business_id, clinic_id, doctor_id, day,
  count(*) filter (where deleted_at is null) as receipts,
  coalesce(sum(gross_amount) filter (where deleted_at is null), 0) as gross_amount,
  coalesce(sum(coalesce(item_discount_amount, 0) + coalesce(additional_discount_amount, 0))
           filter (where deleted_at is null), 0) as discount_amount,
  coalesce(sum(net_amount) filter (where deleted_at is null), 0) as net_amount,
  coalesce(sum(paid_amount) filter (where deleted_at is null), 0) as paid_amount,
  coalesce(sum(due_amount) filter (where deleted_at is null), 0) as due_amount,
  count(*) filter (where deleted_at is not null) as deleted_receipts,
  coalesce(sum(net_amount) filter (where deleted_at is not null), 0) as deleted_net_amount
from reporting.all_receipts
group by business_id, clinic_id, doctor_id, day;

create view reporting.outstanding_receipts as
select
  business_id, receipt_id, receipt_number, day, issued_at, reporting.today() - day as days_outstanding,
  clinic_id, doctor_id, patient_id, name, mobile, net_amount, paid_amount, due_amount, payment_link, pdf_url
from reporting.receipts
where due_amount > 0;

create view reporting.consent_forms as
select
  business_id, id as form_id, reporting.day(event_time) as day, event_time, docid as doctor_id,
  patientid as patient_id, owner, url as pdf_url, sendurlpdf as send_pdf_url, client_id, last_event, delivery_id
from consent_forms
where deleted_at is null;

create view reporting.review_requests as
select
  business_id, reporting.day(event_time) as day, event_time as requested_at, clinic_id, doctor_id, patient_id,
  appointment_id, google_review_link, client_id, delivery_id
from review_requests
where deleted_at is null;

create view reporting.activities as
select
  business_id, clinic_id, doctor_id, day, 1 as receipts, net_amount, due_amount, 0 as consent_forms,
  0 as review_requests
from reporting.receipts
union all
-- A consent form does not say its clinic.
select business_id, null, doctor_id, day, 0, null, null, 1, 0 from reporting.consent_forms
union all
select business_id, clinic_id, doctor_id, day, 0, null, null, 0, 1 from reporting.review_requests;

create view reporting.doctors_daily as
select
  business_id, doctor_id, day, sum(receipts) as receipts, coalesce(sum(net_amount), 0) as net_amount,
  coalesce(sum(due_amount), 0) as due_amount, sum(consent_forms) as consent_forms,
  sum(review_requests) as review_requests
from reporting.activities
group by business_id, doctor_id, day;

create view reporting.clinics_daily as
select
  business_id, clinic_id, day, sum(receipts) as receipts, coalesce(sum(net_amount), 0) as net_amount,
  coalesce(sum(due_amount), 0) as due_amount, sum(consent_forms) as consent_forms,
  sum(review_requests) as review_requests
from reporting.activities
group by business_id, clinic_id, day;

-- The status is a constant here because the index that could give the rest does not hold it.
create view reporting.applied_deliveries as
select
  id as delivery_id, family, event, business_id, client_id,
  case when family = 'receipt' then reporting.receipt_id(envelope) end as receipt_id,
  event_time, 'applied' as status, null::text as error, received_at, reporting.day(received_at) as day,
  reporting.hour(received_at) as hour, applied_at, delivery_count - 1 as duplicates, last_received_at
from deliveries
where status = 'applied';

-- In two parts because each has an index of its own: what is applied, and the little that is not.
create view reporting.deliveries as
select * from reporting.applied_deliveries
union all
select
  id, family, event, business_id, client_id,
  case when family = 'receipt' then reporting.receipt_id(envelope) end,
  event_time, status, error, received_at, reporting.day(received_at),
  reporting.hour(received_at), applied_at, delivery_count - 1, last_received_at
from deliveries
where status <> 'applied';

-- Of two events at the same time the later in a receipt's life is the newer, as the worker has it.
create function reporting.rank(event text) returns integer
  language sql immutable parallel safe
  return array_position(array['receipt.created', 'receipt.updated', 'receipt.deleted'], event);

-- Only what was applied: that it can be unpacked is certain, and what failed never was a version. Field by
-- field, so that those that nobody asks for cost nothing; "offset 0" keeps the planner from taking the data
-- out of the envelope for each of them anew.
create view reporting.receipt_history as
select
  d.business_id, reporting.receipt_id(d.envelope) as receipt_id,
  1 + (
    select count(*)
    from deliveries earlier
    where earlier.family = 'receipt' and earlier.status = 'applied'
      and earlier.business_id = d.business_id
      and reporting.receipt_id(earlier.envelope) = reporting.receipt_id(d.envelope)
      and earlier.id <> d.id and earlier.event_time <= d.event_time
      and (earlier.event_time,
           coalesce(service_time((earlier.envelope #>> '{data,updated_at}')::numeric), '-infinity'),
           reporting.rank(earlier.event), earlier.id)
        < (d.event_time, coalesce(service_time((d.envelope #>> '{data,updated_at}')::numeric), '-infinity'),
           reporting.rank(d.event), d.id)
  ) as version,
  d.event, d.event_time, reporting.day(d.received_at) as day,
  d.received_at, d.applied_at, data->>'receipt_number' as receipt_number,
  coalesce(service_time(created_at), d.event_time) as issued_at,
  service_time(unpacked.updated_at) as updated_at,
  case when d.event = 'receipt.deleted' then d.event_time end as deleted_at,
  data->>'clinic_id' as clinic_id, data->>'doctor_oid' as doctor_id, data->>'patient_oid' as patient_id,
  data->>'name' as name, data->>'mobile' as mobile, data->>'receipt_status' as status,
  (data->>'receipt_amount')::numeric as gross_amount,
  (data->>'sku_discount_amount')::numeric as item_discount_amount,
  data->>'additional_discount_type' as additional_discount_type,
  (data->>'additional_discount_value')::numeric as additional_discount_value,
  (data->>'additional_discount_amount')::numeric as additional_discount_amount,
  (data->>'net_amount')::numeric as net_amount, (data->>'amount_paid')::numeric as paid_amount,
  (data->>'amount_due')::numeric as due_amount, data->>'payment_id' as payment_id,
  data->>'payment_link' as payment_link, data->>'ref_trx_id' as transaction_reference,
  data->>'receipt_url' as pdf_url, data->>'remarks' as remarks, data->>'actor' as actor,
  data->>'flavour' as flavour, (data->>'archive')::numeric::bigint as archive, data->>'aid' as aid,
  d.client_id, d.id as delivery_id
from deliveries d
cross join lateral (
  select d.envelope->'data' as data, (d.envelope #>> '{data,created_at}')::numeric as created_at,
         (d.envelope #>> '{data,updated_at}')::numeric as updated_at
  offset 0
) unpacked
where d.family = 'receipt' and d.status = 'applied';

-- A row whose present version was not applied later was the same then. For the others the version of then is
-- looked up, and those that have none had not come yet.
create function reporting.receipts_as_of(moment timestamptz) returns setof reporting.all_receipts
  language sql stable parallel safe
begin atomic
  select r.*
  from reporting.all_receipts r
  where not exists (
    select from reporting.applied_deliveries d where d.delivery_id = r.delivery_id and d.applied_at > moment
  )
  union all
  select
    r.business_id, r.receipt_id, h.receipt_number, reporting.day(h.issued_at), h.issued_at, h.updated_at,
    h.deleted_at, h.clinic_id, h.doctor_id, h.patient_id, h.name, h.mobile, h.status, h.gross_amount,
    h.item_discount_amount, h.additional_discount_type, h.additional_discount_value,
    h.additional_discount_amount, h.net_amount, h.paid_amount, h.due_amount, h.payment_id, h.payment_link,
    h.transaction_reference, h.pdf_url, h.remarks, h.actor, h.flavour, h.archive, h.aid, h.client_id, h.event,
    h.event_time, h.delivery_id
  from reporting.applied_deliveries d
  -- Not the column itself: the planner would read the index of all that the business ever sent, besides that
  -- of the times, which is enough.
  join reporting.all_receipts r
    on r.business_id = d.business_id || '' and r.receipt_id = d.receipt_id and r.delivery_id = d.delivery_id
  cross join lateral (
    select *
    from reporting.receipt_history h
    where h.business_id = r.business_id and h.receipt_id = r.receipt_id and h.applied_at <= moment
    order by h.event_time desc, coalesce(h.updated_at, '-infinity') desc, reporting.rank(h.event) desc,
             h.delivery_id desc
    limit 1
  ) h
  where d.applied_at > moment and d.family = 'receipt';
end;

-- The body of what did not fit may be anything; escaped, its bytes can be searched whatever they are.
create function reporting.business_in(body bytea) returns text
  language sql immutable strict parallel safe
  return substring(encode(body, 'escape') from '"business_id"\s*:\s*"([^"\\]{1,200})"');

create view reporting.quarantine as
select
  q.id as quarantine_id, p.family, reporting.business_in(q.body) as business_id, q.reason, q.received_at,
  reporting.day(q.received_at) as day, reporting.hour(q.received_at) as hour, q.last_received_at,
  q.count as times_received, q.replayed_at
from quarantine q
left join callback_paths p using (path);

create view reporting.delivery_health as
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

-- Clinics sleep at night and close on Sundays, so a gap is measured against the same stretch of the week in
-- the four weeks before the last callback: what came then is what should have come now. At five expected and
-- none come, chance alone is an explanation in fewer than one case of a hundred.
create view reporting.silence as
with recursive businesses as (
  -- From one business to the next in the index, rather than through every delivery.
  (select business_id from deliveries where status = 'applied' order by business_id limit 1)
  union all
  select (select d.business_id from deliveries d
          where d.status = 'applied' and d.business_id > b.business_id
          order by d.business_id limit 1)
  from businesses b
  where b.business_id is not null
)
select
  b.business_id, sent.family, sent.last as last_received_at, usual.gap as usual_gap,
  usual.longest as longest_gap, present.gap as present_gap, round(expected.callbacks, 1) as expected_callbacks,
  expected.callbacks >= 5 as out_of_the_ordinary
from (
  select business_id from businesses where business_id is not null
  union
  select business_id from deliveries where status <> 'applied'
) b
cross join lateral (
  -- Who has sent nothing for 90 days has left.
  select d.family, max(d.received_at) as last,
         extract(epoch from max(d.received_at) - min(d.received_at)) as seconds
  from reporting.deliveries d
  where d.business_id = b.business_id and d.day >= reporting.today() - 90 - 28
  group by d.family
  having max(d.received_at) > now() - interval '90 days'
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
           -- How far into a week that begins as the silence began.
           d.received_at - date_bin('7 days', d.received_at, sent.last) as into_week
    from reporting.deliveries d
    where d.business_id = b.business_id and d.family = sent.family
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
