-- Receipts that other records name and that never came. Receipts cannot be read from the platform, and whether their ids are
-- without gaps is not known: only what names one is evidence.

create or replace view reporting.suspected_receipts as
select named.business_id, named.day, named.named_by, named.appointment_id, named.receipt_id, named.amount as receipt_amount,
       named.named_at, named.delivery_id
from (
  select
    p.business_id, reporting.day(p.event_time) as day, 'payment_request' as named_by, p.appointment_id, null::bigint as receipt_id,
    p.net_amount as amount, p.event_time as named_at, p.delivery_id, p.url
  from payment_requests p
  where p.appointment_id <> ''
  union all
  select
    a.business_id, reporting.day(coalesce(a.created_at, a.first_event_time, a.event_time)), 'appointment', a.appointment_id, null,
    case when jsonb_typeof(a.extra #> '{payment,amount}') = 'number' then (a.extra #>> '{payment,amount}')::numeric end,
    coalesce(a.created_at, a.first_event_time, a.event_time), a.delivery_id, null
  from appointments a
  where a.extra #>> '{payment,payment_status}' = 'PAYMENT_SUCCESS' and a.deleted_at is null
  union all
  select
    r.business_id, reporting.day(coalesce(r.created_at, r.first_event_time, r.event_time)), 'later_version', r.aid, r.receipt_id, r.net_amount,
    coalesce(r.created_at, r.first_event_time, r.event_time), r.delivery_id, null
  from receipts r
  where r.last_event <> 'receipt.created' and r.created_at is not null and (
    -- "limit": looked up, here and below. A join would read all versions, or all receipts.
    select true from receipt_versions v
    where v.receipt_id = r.receipt_id and v.business_id = r.business_id and v.last_event = 'receipt.created' limit 1
  ) is null
) named
where named.named_at < now() - interval '1 hour'
  -- After the first day of which receipts are held: a receiver that had not begun, or a retention, has none of before.
  and named.day > (
    select min(day) from (
      (select reporting.day(received_at) as day from receipts r where r.business_id = named.business_id
       order by reporting.day(received_at) limit 1)
      union all
      (select reporting.day(received_at) from receipt_versions v where v.business_id = named.business_id
       order by reporting.day(received_at) limit 1)
    ) first_days
  )
  and (named.named_by = 'later_version' or not exists (
    -- Of the appointment, or of one that is linked to it by rescheduling.
    with recursive linked (id) as (
      select named.appointment_id
      union
      select beside.id
      from linked cross join lateral (
        select later_id as id from appointment_links l where l.business_id = named.business_id and l.earlier_id = linked.id
        union all
        select earlier_id from appointment_links l where l.business_id = named.business_id and l.later_id = linked.id
      ) beside
    )
    select from (select id from linked limit 101) chain
    join receipts r on r.aid = chain.id and r.aid <> '' and r.business_id = named.business_id
  ))
  and (named.url is null or named.url = '' or (
    -- The receipt may name no appointment.
    select true from receipts r
    where r.business_id = named.business_id and r.payment_link = named.url
      and reporting.day(coalesce(r.created_at, r.first_event_time, r.event_time)) between named.day - 1 and named.day + 1 limit 1
  ) is null);

comment on view reporting.suspected_receipts is 'Receipts that other records name and that never came, or whose creation never came';
comment on column reporting.suspected_receipts.business_id    is 'The business, by its id in the platform';
comment on column reporting.suspected_receipts.day            is 'The day of what names it';
comment on column reporting.suspected_receipts.named_by       is 'payment_request: a patient was asked to pay; appointment: it was paid; later_version: the receipt was updated or deleted, and its creation never came';
comment on column reporting.suspected_receipts.appointment_id is 'The appointment of the receipt';
comment on column reporting.suspected_receipts.receipt_id     is 'The receipt, where a later version names it; other records do not';
comment on column reporting.suspected_receipts.receipt_amount is 'The amount that is named';
comment on column reporting.suspected_receipts.named_at       is 'When it was named: the request, the booking, or the receipt itself';
comment on column reporting.suspected_receipts.delivery_id    is 'The delivery of what names it';
