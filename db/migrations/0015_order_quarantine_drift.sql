-- What orders the versions of a receipt within a second, as the worker has it: a deletion that lacks the time
-- of its change is the last of its second, anything else that lacks it the first.
create function reporting.change_time(event text, updated_at timestamptz) returns timestamptz
  language sql immutable parallel safe
  return case
    when event = 'receipt.deleted' then coalesce(updated_at, 'infinity')
    else coalesce(updated_at, '-infinity')
  end;

comment on function reporting.change_time is 'What orders versions of a receipt that have the same event time: the time of the change; where it is missing, a deletion comes last and anything else first';

create or replace view reporting.receipt_history as
select
  v.business_id, v.receipt_id,
  1 + (
    select count(*)
    from receipt_versions earlier
    where earlier.receipt_id = v.receipt_id and earlier.business_id = v.business_id
      and earlier.delivery_id <> v.delivery_id and earlier.event_time <= v.event_time
      and (earlier.event_time, reporting.change_time(earlier.last_event, earlier.updated_at),
           reporting.rank(earlier.last_event), earlier.delivery_id)
        < (v.event_time, reporting.change_time(v.last_event, v.updated_at), reporting.rank(v.last_event),
           v.delivery_id)
  ) as version,
  v.last_event as event, v.event_time, reporting.day(v.received_at) as day, v.received_at, v.applied_at,
  v.receipt_number, coalesce(v.created_at, v.event_time) as issued_at, v.updated_at, v.deleted_at, v.clinic_id,
  v.doctor_oid as doctor_id, v.patient_oid as patient_id, v.name, v.mobile, v.receipt_status as status,
  v.receipt_amount as gross_amount, v.sku_discount_amount as item_discount_amount, v.additional_discount_type,
  v.additional_discount_value, v.additional_discount_amount, v.net_amount, v.amount_paid as paid_amount,
  v.amount_due as due_amount, v.payment_id, v.payment_link, v.ref_trx_id as transaction_reference,
  v.receipt_url as pdf_url, v.remarks, v.actor, v.flavour, v.archive, v.aid, v.client_id, v.delivery_id
from receipt_versions v;

create or replace function reporting.receipts_as_of(moment timestamptz) returns setof reporting.all_receipts
  language sql stable parallel safe
begin atomic
  select r.*
  from reporting.all_receipts r
  where not exists (
    select from reporting.receipt_history v
    where v.receipt_id = r.receipt_id and v.business_id = r.business_id and v.delivery_id = r.delivery_id
      and v.applied_at > moment
  )
  union all
  select
    r.business_id, r.receipt_id, h.receipt_number, reporting.day(h.issued_at), h.issued_at, h.updated_at,
    h.deleted_at, h.clinic_id, h.doctor_id, h.patient_id, h.name, h.mobile, h.status, h.gross_amount,
    h.item_discount_amount, h.additional_discount_type, h.additional_discount_value,
    h.additional_discount_amount, h.net_amount, h.paid_amount, h.due_amount, h.payment_id, h.payment_link,
    h.transaction_reference, h.pdf_url, h.remarks, h.actor, h.flavour, h.archive, h.aid, h.client_id, h.event,
    h.event_time, h.delivery_id
  from reporting.receipt_history v
  join reporting.all_receipts r
    on r.receipt_id = v.receipt_id and r.business_id = v.business_id and r.delivery_id = v.delivery_id
  cross join lateral (
    select *
    from reporting.receipt_history h
    where h.business_id = r.business_id and h.receipt_id = r.receipt_id and h.applied_at <= moment
    order by h.event_time desc, reporting.change_time(h.event, h.updated_at) desc, reporting.rank(h.event) desc,
             h.delivery_id desc
    limit 1
  ) h
  where v.applied_at > moment;
end;

-- The deletions that were taken for the first of their second until now.
create table late_deletions as
select distinct on (v.business_id, v.receipt_id) v.*
from receipt_versions v
join receipts r using (business_id, receipt_id, event_time)
where v.last_event = 'receipt.deleted' and v.updated_at is null
  and not (r.last_event = 'receipt.deleted' and r.updated_at is null)
order by v.business_id, v.receipt_id, v.delivery_id desc;
alter table late_deletions drop column received_at, drop column applied_at;
delete from receipts r using late_deletions d
where r.business_id = d.business_id and r.receipt_id = d.receipt_id;
insert into receipts select * from late_deletions;
drop table late_deletions;

alter table quarantine add column acknowledged boolean not null default false;

comment on column quarantine.acknowledged is 'Whether it was answered 200 and PostgreSQL refused it afterwards: the sender has no copy to send again, so only a person deletes it';

-- Senders invent fields without end. So each event has rows for the first hundred that are new, and one row,
-- of kind "other", that counts the rest.
alter table schema_drift drop constraint schema_drift_kind_check;
alter table schema_drift add constraint schema_drift_kind_check
  check (kind in ('unknown', 'missing', 'value', 'other'));

create function record_schema_drift(notes jsonb) returns void
  language plpgsql
as $$
begin
  -- One after the other, so that the rows that are counted are all that there are.
  perform pg_advisory_xact_lock(hashtext('record_schema_drift'));
  with note as (
    select n.*, s.event is null and n.kind in ('unknown', 'value') as is_new
    from jsonb_to_recordset(notes) as n(event text, field text, kind text, value text, count bigint,
      first_seen timestamptz, last_seen timestamptz, example_delivery uuid)
    left join schema_drift s using (event, field, kind, value)
  ), held as (
    select event, count(*) as rows from schema_drift where kind in ('unknown', 'value') group by event
  ), placed as (
    select note.*, is_new and coalesce(held.rows, 0) + row_number() over (
        partition by event, is_new order by first_seen, field, kind, value) > 100 as is_too_many
    from note
    left join held using (event)
  )
  insert into schema_drift (event, field, kind, value, count, first_seen, last_seen, example_delivery)
  select
    event, case when is_too_many then '' else field end, case when is_too_many then 'other' else kind end,
    case when is_too_many then '' else value end, sum(count), min(first_seen), max(last_seen),
    (array_agg(example_delivery order by last_seen desc))[1]
  from placed
  group by 1, 2, 3, 4
  on conflict (event, field, kind, value) do update set
    count = schema_drift.count + excluded.count,
    first_seen = least(schema_drift.first_seen, excluded.first_seen),
    last_seen = greatest(schema_drift.last_seen, excluded.last_seen),
    example_delivery = excluded.example_delivery;
end
$$;

comment on function record_schema_drift is 'Adds counts to schema_drift, whose rows are bounded';
comment on column schema_drift.kind is 'unknown: not documented; missing: documented but not there; value: a short text never seen before; other: further ones, of which there were too many for a row each';
comment on column reporting.schema_drift.kind is 'unknown: not documented; missing: documented but not there; value: a short text never seen before; other: further ones, of which there were too many for a row each';
comment on column reporting.schema_drift.count is 'How many callbacks; where kind is other, how many differences';
