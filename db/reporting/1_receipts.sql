-- Receipts, now and before. Their columns are listed once.

create or replace view reporting.receipt_callbacks as
select r.business_id, r.receipt_id, i.id as delivery_id, i.event, i.client_id, i.event_time, i.version, i.received_at, i.stored_at,
       coalesce(i.data, i.envelope->'data') as data
from public.receipts r
join receiver.inbox i on i.business_id = r.business_id and i.family = 'receipt' and i.record_id = r.receipt_id::text;

do $do$
declare
  -- New columns come last: then the views are replaced in place.
  shown constant text := $$
    receipt_number, issued_at, updated_at, clinic_id, doctor_oid as doctor_id, patient_oid as patient_id, name, mobile,
    receipt_status as status, receipt_amount as gross_amount, sku_discount_amount as item_discount_amount, additional_discount_type,
    additional_discount_value, additional_discount_amount, net_amount, amount_paid as paid_amount,
    reporting.amount_due(net_amount, amount_paid, amount_due) as due_amount, payment_id, payment_link,
    ref_trx_id as transaction_reference, receipt_url as pdf_url, remarks, actor, flavour, archive, aid, client_id, event_time,
    delivery_id, received_at,
    reporting.receipt_state(receipt_status, deleted_at, amount_paid, reporting.amount_due(net_amount, amount_paid, amount_due)) as state
  $$;
  -- What was known of a receipt with each of its callbacks. A condition on callbacks, and one on what follows from them.
  known constant text := $$
    (select *, coalesce(created_at, first_event_time) as issued_at from (
      select k.version, k.received_at, k.first_event_time, {{receipt}}
      from (
        select business_id, receipt_id as record_id, delivery_id as id, event, event_time, received_at,
               row_number() over w as version, count(*) over (partition by business_id, receipt_id) as callbacks,
               min(event_time) over w as first_event_time, receiver.jsonb_merge(data) over w as d,
               array_agg(client_id) filter (where client_id <> '') over w as clients
        from reporting.receipt_callbacks where %1$s
        window w as (partition by business_id, receipt_id order by version rows unbounded preceding)
      ) k
      cross join lateral (select k.d, k.clients[cardinality(k.clients)] as client_id) m
      cross join lateral (select k.id, k.event, k.event_time) n
      where %2$s
    ) r) r
  $$;
begin
  -- Two parts, so that the days of the first one, which has nearly all, are found by their index.
  execute format($$
    create or replace view reporting.all_receipts as
    select business_id, receipt_id, reporting.day(issued_at) as day, last_event, deleted_at, %s
    from (
      select *, created_at as issued_at, (select received_at from receiver.inbox where id = delivery_id) as received_at
      from public.receipts where created_at is not null
      union all
      select *, (
        select min(i.event_time) from receiver.inbox i
        where i.business_id = r.business_id and i.family = 'receipt' and i.record_id = r.receipt_id::text
      ), (select received_at from receiver.inbox where id = delivery_id)
      from public.receipts r where created_at is null
    ) r
  $$, shown);

  execute format($$
    create or replace view reporting.receipt_history as
    select business_id, receipt_id, version, last_event as event, reporting.day(received_at) as day, deleted_at, %s from %s
  $$, shown, format(known, 'true', 'true'));

  execute format($$
    create or replace function reporting.receipts_as_of(moment timestamptz) returns setof reporting.all_receipts
      language sql stable parallel safe
    begin atomic
      select business_id, receipt_id, reporting.day(issued_at) as day, last_event, deleted_at, %s from %s;
    end
  $$, shown, format(known, 'stored_at <= moment', 'k.version = k.callbacks'));
end
$do$;

create or replace view reporting.receipts as
select business_id, receipt_id, day, last_event, receipt_number, issued_at, updated_at, clinic_id, doctor_id, patient_id, name,
       mobile, status, gross_amount, item_discount_amount, additional_discount_type, additional_discount_value, additional_discount_amount,
       net_amount, paid_amount, due_amount, payment_id, payment_link, transaction_reference, pdf_url, remarks, actor, flavour,
       archive, aid, client_id, event_time, delivery_id, received_at, state
from reporting.all_receipts
where deleted_at is null;

create or replace view reporting.deleted_receipts as
select * from reporting.all_receipts where deleted_at is not null;

create or replace view reporting.outstanding_receipts as
select business_id, receipt_id, receipt_number, day, issued_at, reporting.today() - day as days_outstanding, clinic_id, doctor_id,
       patient_id, name, mobile, net_amount, paid_amount, due_amount, payment_link, pdf_url, delivery_id
from reporting.receipts
where due_amount > 0 and not reporting.is_failed(status);

-- Without a phone number, of a patient; without both, of a receipt. The first receipt identifies the row.
create or replace view reporting.outstanding_by_phone as
select business_id, max(mobile) as mobile, jsonb_agg(distinct patient_id) filter (where patient_id <> '') as patient_ids,
       count(*) as receipts, sum(due_amount) as due_amount, min(day) as oldest_day, max(day) as newest_day,
       min(receipt_id) as first_receipt_id
from reporting.outstanding_receipts
group by business_id, reporting.phone_key(mobile),
         case when reporting.phone_key(mobile) is null then coalesce(nullif(patient_id, ''), 'receipt ' || receipt_id) end;

create or replace view reporting.duplicate_receipts as
select business_id, receipt_id, receipt_number, day, issued_at, copy_number, first_receipt_id, clinic_id, doctor_id, patient_id, name,
       mobile, net_amount, paid_amount, due_amount, delivery_id
from (
  select *, count(*) over alike as copies, row_number() over (alike order by issued_at, receipt_id) as copy_number,
         first_value(receipt_id) over (alike order by issued_at, receipt_id) as first_receipt_id
  from reporting.receipts
  where patient_id <> '' and net_amount > 0 and not reporting.is_failed(status)
  window alike as (partition by business_id, day, patient_id, net_amount)
) r
where copies > 1;

create or replace view reporting.receipts_daily as
select business_id, clinic_id, doctor_id, day, count(*) filter (where deleted_at is null) as receipts,
       coalesce(sum(gross_amount) filter (where deleted_at is null), 0) as gross_amount,
       coalesce(sum(coalesce(item_discount_amount, 0) + coalesce(additional_discount_amount, 0)) filter (where deleted_at is null), 0)
         as discount_amount,
       coalesce(sum(net_amount) filter (where deleted_at is null), 0) as net_amount,
       coalesce(sum(paid_amount) filter (where deleted_at is null), 0) as paid_amount,
       coalesce(sum(due_amount) filter (where deleted_at is null), 0) as due_amount,
       count(*) filter (where deleted_at is not null) as deleted_receipts,
       coalesce(sum(net_amount) filter (where deleted_at is not null), 0) as deleted_net_amount
from reporting.all_receipts
where not reporting.is_failed(status)
group by business_id, clinic_id, doctor_id, day;

-- What a callback changed: its amount less that of the callback before it which has one, looked up for each, so that conditions on
-- the day or the receipt choose the callbacks. Null is an amount that is not known, and moves no money.
create or replace view reporting.payments as
select business_id, receipt_id, delivery_id, reporting.day(paid_at) as day, paid_at, amount,
       case when amount < 0 then 'refund' else 'payment' end as kind, clinic_id, doctor_id, patient_id
from (
  -- The business of the callback, whose days have an index: PostgreSQL hands a list of businesses on to one table of a join only.
  select i.business_id, r.receipt_id, i.id as delivery_id, i.event_time as paid_at, changed.amount, r.clinic_id,
         r.doctor_oid as doctor_id, r.patient_oid as patient_id
  from receiver.inbox i
  -- The key in both types: either table finds the other by its index.
  join public.receipts r on r.business_id = i.business_id and r.receipt_id::text = i.record_id
    and r.receipt_id = case when i.family = 'receipt' then i.record_id::bigint end
    -- Of both: as a condition on callbacks alone it would be looked up in the index of records, for every receipt there is.
    and i.family = case when r.receipt_id is not null then 'receipt' end
  cross join lateral (
    select (coalesce(i.data, i.envelope->'data')->>'amount_paid')::numeric - coalesce((
      select (coalesce(before.data, before.envelope->'data')->>'amount_paid')::numeric
      from receiver.inbox before
      where before.business_id = i.business_id and before.family = 'receipt' and before.record_id = i.record_id
        and before.version < i.version and coalesce(before.data, before.envelope->'data')->>'amount_paid' is not null
      order by before.version desc limit 1
    ), 0) as amount
    offset 0 -- so that sorts have the amount, and not the callback
  ) changed
  where not reporting.is_failed(r.receipt_status)
) p
where amount <> 0;

-- The kind is a constant, so that a condition on it reads one part alone.
create or replace view reporting.takings as
select business_id, receipt_id, day, to_char(day, 'YYYY-MM') as month, 'receipt' as kind, nullif(clinic_id, '') as clinic_id,
       nullif(doctor_id, '') as doctor_id, 0::numeric as collected_amount, 0::numeric as refunded_amount, 1 as receipts, net_amount, greatest(due_amount, 0) as due_amount
from reporting.receipts
where not reporting.is_failed(status)
union all
select business_id, receipt_id, day, to_char(day, 'YYYY-MM'), 'payment', nullif(clinic_id, ''), nullif(doctor_id, ''), amount,
       greatest(-amount, 0), 0, 0, 0
from reporting.payments;

comment on view reporting.receipt_callbacks    is 'What each callback said about a receipt; receipt_history and receipts_as_of are made of it';
comment on view reporting.all_receipts         is 'The newest version of each receipt, with deleted and failed ones';
comment on view reporting.receipts             is 'The newest version of each receipt, without deleted ones; sums leave out failed ones, see is_failed';
comment on view reporting.deleted_receipts     is 'The newest version of each deleted receipt';
comment on view reporting.outstanding_receipts is 'Receipts with an amount due, without failed ones';
comment on view reporting.outstanding_by_phone is 'The amounts due of each phone number; without a number, of each patient; without both, of each receipt';
comment on view reporting.duplicate_receipts   is 'Receipts of one patient with the same amount on the same day, where there is more than one that was not deleted and has not failed';
comment on view reporting.receipt_history      is 'What was known of each receipt with each of its callbacks, one row each; order by version';
comment on view reporting.payments             is 'What came in or went back: a row for each callback that changed the paid amount of a receipt, on the day of its event. The interface tells of no payments, only of amounts paid. A receipt that is deleted keeps its payments, since nothing says that money went back, and an amount that is not known (null) moves none; those of failed receipts are left out';
comment on view reporting.takings              is 'What was billed and what was collected, to be added up by day, month, clinic or doctor: a row for each receipt on its day, and one for each payment on the day on which the money came in or went back; without failed receipts';
comment on view reporting.receipts_daily       is 'Totals of the receipts of a day, without failed ones, for each business, clinic and doctor';
comment on function reporting.receipts_as_of   is 'The rows of all_receipts as they follow from the callbacks that were stored by a moment, deleted ones included';
