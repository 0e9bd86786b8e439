-- Every version of each receipt, unpacked when it is applied, as a report of thousands of them could not do it
-- in time. Made of the deliveries and of nothing else: what is deleted there is deleted here.
create table receipt_versions (
  like receipts including comments,
  received_at timestamptz not null,
  applied_at  timestamptz not null,
  -- Begins with the number, which is compared faster than the text.
  primary key (receipt_id, business_id, delivery_id)
);

comment on table  receipt_versions             is 'Each receipt as each of its versions said; read it by reporting.receipt_history';
comment on column receipt_versions.delivery_id is 'The delivery that brought this version';
comment on column receipt_versions.received_at is 'When that delivery first arrived';
comment on column receipt_versions.applied_at  is 'When it was applied';

insert into receipt_versions
select
  d.business_id, receipt_id, aid, doctor_oid, clinic_id, patient_oid, service_time(created_at),
  service_time(updated_at), receipt_number, receipt_url, receipt_status, receipt_amount,
  additional_discount_value, additional_discount_type, additional_discount_amount, net_amount, name, mobile,
  flavour, sku_discount_amount, amount_due, archive::bigint, remarks, ref_trx_id, payment_id, payment_link,
  amount_paid, actor, d.client_id, d.event, d.event_time,
  case when d.event = 'receipt.deleted' then d.event_time end,
  (d.envelope->'data') - array[
    'receipt_id', 'aid', 'doctor_oid', 'clinic_id', 'patient_oid', 'created_at', 'updated_at',
    'receipt_number', 'receipt_url', 'receipt_status', 'receipt_amount', 'additional_discount_value',
    'additional_discount_type', 'additional_discount_amount', 'net_amount', 'name', 'mobile', 'flavour',
    'sku_discount_amount', 'amount_due', 'archive', 'remarks', 'ref_trx_id', 'payment_id',
    'payment_link', 'amount_paid', 'actor'],
  d.id, d.received_at, d.applied_at
from deliveries d
cross join lateral jsonb_to_record(d.envelope->'data') as data(
  receipt_id bigint, aid text, doctor_oid text, clinic_id text, patient_oid text, created_at numeric,
  updated_at numeric, receipt_number text, receipt_url text, receipt_status text, receipt_amount numeric,
  additional_discount_value numeric, additional_discount_type text, additional_discount_amount numeric,
  net_amount numeric, name text, mobile text, flavour text, sku_discount_amount numeric, amount_due numeric,
  archive numeric, remarks text, ref_trx_id text, payment_id text, payment_link text, amount_paid numeric,
  actor text)
where d.family = 'receipt' and d.status = 'applied';

-- The second time is for receipts_as_of: PostgreSQL 18 goes from day to day in it.
create index receipt_versions_day on receipt_versions (business_id, reporting.day(received_at), applied_at);
-- They lie in the order in which they were applied.
create index receipt_versions_applied on receipt_versions using brin (applied_at);
analyze receipt_versions;

create function forget_versions() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    truncate public.receipt_versions;
  else
    -- What never was applied may name no receipt.
    delete from public.receipt_versions v
    using gone d
    where d.family = 'receipt' and d.applied_at is not null and v.receipt_id = reporting.receipt_id(d.envelope)
      and v.business_id = d.business_id and v.delivery_id = d.id;
  end if;
  return null;
end
$$;

create trigger forget_versions after delete on deliveries
  referencing old table as gone for each statement execute function forget_versions();
create trigger forget_all_versions after truncate on deliveries
  for each statement execute function forget_versions();

-- "order by version" is the order in which the worker lets one version replace another.
create or replace view reporting.receipt_history as
select
  v.business_id, v.receipt_id,
  1 + (
    select count(*)
    from receipt_versions earlier
    where earlier.receipt_id = v.receipt_id and earlier.business_id = v.business_id
      and earlier.delivery_id <> v.delivery_id and earlier.event_time <= v.event_time
      and (earlier.event_time, coalesce(earlier.updated_at, '-infinity'), reporting.rank(earlier.last_event),
           earlier.delivery_id)
        < (v.event_time, coalesce(v.updated_at, '-infinity'), reporting.rank(v.last_event), v.delivery_id)
  ) as version,
  v.last_event as event, v.event_time, reporting.day(v.received_at) as day, v.received_at, v.applied_at,
  v.receipt_number, coalesce(v.created_at, v.event_time) as issued_at, v.updated_at, v.deleted_at, v.clinic_id,
  v.doctor_oid as doctor_id, v.patient_oid as patient_id, v.name, v.mobile, v.receipt_status as status,
  v.receipt_amount as gross_amount, v.sku_discount_amount as item_discount_amount, v.additional_discount_type,
  v.additional_discount_value, v.additional_discount_amount, v.net_amount, v.amount_paid as paid_amount,
  v.amount_due as due_amount, v.payment_id, v.payment_link, v.ref_trx_id as transaction_reference,
  v.receipt_url as pdf_url, v.remarks, v.actor, v.flavour, v.archive, v.aid, v.client_id, v.delivery_id
from receipt_versions v;

-- A row whose present version was not applied later was the same then. For the others the version of then is
-- looked up, and those that have none had not come yet.
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
    order by h.event_time desc, coalesce(h.updated_at, '-infinity') desc, reporting.rank(h.event) desc,
             h.delivery_id desc
    limit 1
  ) h
  where v.applied_at > moment;
end;

-- What was found by these is now found here.
drop index deliveries_of_receipt;
drop statistics deliveries_receipt;

-- Builds anew whatever was built on the functions that hold the zone, by whichever migration.
create or replace function reporting.set_timezone(zone text) returns boolean
  language plpgsql
as $$
declare
  built record;
begin
  -- Two processes that start at once wait for each other.
  perform pg_advisory_xact_lock(hashtext('reporting.set_timezone'));
  if zone = reporting.timezone() then
    return false;
  end if;
  perform reporting.write_zone(zone);
  for built in
    select indexrelid::regclass as name, indrelid::regclass as of from pg_index
    where pg_get_indexdef(indexrelid) ~ 'reporting\.(day|hour)\('
    order by 2, 1
  loop
    execute format('reindex index %s', built.name);
    execute format('analyze %s', built.of);
  end loop;
  return true;
end
$$;
