-- Receipts and their versions. The common columns are listed once, for all views of receipts.

do $do$
declare
  -- Add new columns at the end: otherwise PostgreSQL cannot replace the view in place.
  shown constant text := $$
    receipt_number, coalesce(created_at, first_event_time, event_time) as issued_at, updated_at, clinic_id, doctor_oid as doctor_id,
    patient_oid as patient_id, name, mobile, receipt_status as status, receipt_amount as gross_amount,
    sku_discount_amount as item_discount_amount, additional_discount_type, additional_discount_value, additional_discount_amount,
    case when carried is null then net_amount else net_of(carried, net_amount, receipt_amount, sku_discount_amount, additional_discount_amount) end as net_amount,
    amount_paid as paid_amount,
    case when carried is null then amount_due else due_of(carried, amount_due, amount_paid, net_amount, receipt_amount, sku_discount_amount, additional_discount_amount) end as due_amount,
    payment_id, payment_link, ref_trx_id as transaction_reference, receipt_url as pdf_url, remarks, actor, flavour, archive, aid,
    client_id, event_time, delivery_id, received_at, applied_at
  $$;
begin
  execute format($$
    create or replace view reporting.all_receipts as
    select business_id, receipt_id, reporting.day(coalesce(created_at, first_event_time, event_time)) as day, last_event, deleted_at, %s
    from receipts
  $$, shown);

  execute format($$
    create or replace view reporting.receipts as
    select business_id, receipt_id, reporting.day(coalesce(created_at, first_event_time, event_time)) as day, last_event, %s
    from receipts
    where deleted_at is null
  $$, shown);

  -- The newest version is in receipts, the others are in receipt_versions, as they came: what one of them lacks, older ones say.
  execute format($$
    create or replace view reporting.receipt_history as
    select
      business_id, receipt_id,
      1 + (
        select count(*)
        from receipt_versions earlier
        where earlier.receipt_id = v.receipt_id and earlier.business_id = v.business_id
          and earlier.delivery_id <> v.delivery_id
          and version_key_of(earlier.last_event, earlier.event_time, earlier.updated_at, earlier.carried, earlier.delivery_id) collate "C"
            < version_key_of(v.last_event, v.event_time, v.updated_at, v.carried, v.delivery_id)
      ) as version,
      last_event as event, reporting.day(received_at) as day, deleted_at, %1$s
    from (
      select %2$s from receipts
      union all
      select %2$s from receipt_versions where carried is null
      union all
      select %3$s
      from (select %2$s from receipt_versions where carried is not null) lean
      cross join lateral (
        select fold_rows(to_jsonb(said) || jsonb_build_object('version_key',
          version_key_of(said.last_event, said.event_time, said.updated_at, said.carried, said.delivery_id))) as row
        from (select %2$s from receipt_versions) said
        where said.receipt_id = lean.receipt_id and said.business_id = lean.business_id
          and version_key_of(said.last_event, said.event_time, said.updated_at, said.carried, said.delivery_id) collate "C"
            <= version_key_of(lean.last_event, lean.event_time, lean.updated_at, lean.carried, lean.delivery_id)
      ) known
      cross join lateral jsonb_populate_record(null::receipt_versions, known.row) folded
    ) v
  $$, shown, version_columns('receipts'),
    -- The key from lean, so that a condition on it uses an index.
    regexp_replace(regexp_replace(version_columns('receipts'), '\w+', 'folded.\&', 'g'), 'folded.(business_id|receipt_id)\M', 'lean.\1', 'g'));

  execute format($$
    create or replace view reporting.receipt_statements as
    select
      business_id, receipt_id, applied_at,
      case when carried is null and first_event_time is null then row else unfolded(row) end || jsonb_build_object('version_key',
        version_key_of(last_event, event_time, updated_at, carried, delivery_id)) as statement
    from (
      select business_id, receipt_id, applied_at, last_event, event_time, updated_at, carried, delivery_id, first_event_time, to_jsonb(r) as row
      from (select %1$s from receipts) r
      union all
      select business_id, receipt_id, applied_at, last_event, event_time, updated_at, carried, delivery_id, first_event_time, to_jsonb(v)
      from (select %1$s from receipt_versions) v
    ) versions
  $$, version_columns('receipts'));

  -- A row all of whose versions were applied by the moment is returned as it is. For the others, the versions applied by that
  -- moment are folded; a receipt without one had not been received yet.
  execute format($$
    create or replace function reporting.receipts_as_of(moment timestamptz) returns setof reporting.all_receipts
      language sql stable parallel safe
    begin atomic
      select r.*
      from reporting.all_receipts r
      where r.applied_at <= moment and not exists (
        select from reporting.receipt_statements s
        where s.receipt_id = r.receipt_id and s.business_id = r.business_id and s.applied_at > moment)
      union all
      select business_id, receipt_id, reporting.day(coalesce(created_at, first_event_time, event_time)) as day, last_event, deleted_at, %1$s
      from (
        select %2$s
        from reporting.all_receipts r
        cross join lateral (
          select fold_rows(s.statement) as row
          from reporting.receipt_statements s
          where s.receipt_id = r.receipt_id and s.business_id = r.business_id and s.applied_at <= moment
        ) known
        cross join lateral jsonb_populate_record(null::receipts, known.row) h
        where h.delivery_id is not null and exists (
          select from reporting.receipt_statements s
          where s.receipt_id = r.receipt_id and s.business_id = r.business_id and s.applied_at > moment)
      ) v;
    end
  $$, shown,
    -- The key from r, so that a condition on the business uses an index.
    regexp_replace(regexp_replace(version_columns('receipts'), '\w+', 'h.\&', 'g'), 'h.(business_id|receipt_id)\M', 'r.\1', 'g'));
end
$do$;

create or replace view reporting.deleted_receipts as
select * from reporting.all_receipts where deleted_at is not null;

-- The first condition is that of the indexes.
create or replace view reporting.outstanding_receipts as
select
  business_id, receipt_id, receipt_number, reporting.day(coalesce(created_at, first_event_time, event_time)) as day,
  coalesce(created_at, first_event_time, event_time) as issued_at,
  reporting.today() - reporting.day(coalesce(created_at, first_event_time, event_time)) as days_outstanding,
  clinic_id, doctor_oid as doctor_id, patient_oid as patient_id, name, mobile,
  case when carried is null then net_amount
      else net_of(carried, net_amount, receipt_amount, sku_discount_amount, additional_discount_amount) end as net_amount, amount_paid as paid_amount,
  due.amount as due_amount, payment_link, receipt_url as pdf_url
from receipts
cross join lateral (
  select case when carried is null then amount_due
      else due_of(carried, amount_due, amount_paid, net_amount, receipt_amount, sku_discount_amount, additional_discount_amount) end as amount
) due
where (amount_due > 0 or carried is not null) and deleted_at is null and due.amount > 0;

-- Without a phone number, of a patient. The first receipt identifies the row.
create or replace view reporting.outstanding_by_phone as
select
  business_id, max(mobile) as mobile, jsonb_agg(distinct patient_id) filter (where patient_id <> '') as patient_ids,
  count(*) as receipts, sum(due_amount) as due_amount, min(day) as oldest_day, max(day) as newest_day,
  min(receipt_id) as first_receipt_id
from reporting.outstanding_receipts
group by business_id, phone_key(mobile), case when phone_key(mobile) is null then patient_id end;

comment on view reporting.all_receipts         is 'The newest version of each receipt, deleted ones included';
comment on view reporting.receipts             is 'The newest version of each receipt, without deleted ones';
comment on view reporting.deleted_receipts     is 'The newest version of each deleted receipt';
comment on view reporting.outstanding_receipts is 'Receipts with an amount due';
comment on view reporting.outstanding_by_phone is 'The amounts due of each phone number; without a number, of each patient';
comment on view reporting.receipt_history      is 'Every version of each receipt, one row each; order by version';
comment on view reporting.receipt_statements   is 'What each callback about a receipt said, as JSON: receipts_as_of is made from it';

comment on function reporting.receipts_as_of   is 'The rows of all_receipts at a moment in the past: one for each receipt that was already applied, deleted ones included';
