-- Receipts and their versions. The common columns are listed once, for all views of receipts.

do $do$
declare
  -- Add new columns at the end: otherwise PostgreSQL cannot replace the view in place.
  shown constant text := $$
    receipt_number,
    coalesce(created_at, first_event_time, event_time) as issued_at,
    updated_at,
    clinic_id,
    doctor_oid as doctor_id,
    patient_oid as patient_id,
    name,
    mobile,
    receipt_status as status,
    receipt_amount as gross_amount,
    sku_discount_amount as item_discount_amount,
    additional_discount_type,
    additional_discount_value,
    additional_discount_amount,
    net_of(carried, net_amount, receipt_amount, sku_discount_amount, additional_discount_amount) as net_amount,
    amount_paid as paid_amount,
    due_of(carried, amount_due, amount_paid, net_amount, receipt_amount, sku_discount_amount, additional_discount_amount)
      as due_amount,
    payment_id,
    payment_link,
    ref_trx_id as transaction_reference,
    receipt_url as pdf_url,
    remarks,
    actor,
    flavour,
    archive,
    aid,
    client_id,
    event_time,
    delivery_id,
    received_at,
    applied_at
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

-- The amounts of erased receipts stay in the totals of their days.
create or replace view reporting.receipts_daily as
select
  business_id, clinic_id, doctor_id, day, receipts, gross_amount, discount_amount, net_amount, paid_amount, due_amount,
  deleted_receipts, deleted_net_amount
from summed_activities
where receipts > 0 or deleted_receipts > 0;

-- The first condition is that of the indexes.
create or replace view reporting.outstanding_receipts as
select
  business_id, receipt_id, receipt_number, reporting.day(coalesce(created_at, first_event_time, event_time)) as day,
  coalesce(created_at, first_event_time, event_time) as issued_at,
  reporting.today() - reporting.day(coalesce(created_at, first_event_time, event_time)) as days_outstanding,
  clinic_id, doctor_oid as doctor_id, patient_oid as patient_id, name, mobile,
  net_of(carried, net_amount, receipt_amount, sku_discount_amount, additional_discount_amount) as net_amount, amount_paid as paid_amount,
  due.amount as due_amount, payment_link, receipt_url as pdf_url
from receipts
cross join lateral (
  select due_of(carried, amount_due, amount_paid, net_amount, receipt_amount, sku_discount_amount, additional_discount_amount) as amount
) due
where (amount_due > 0 or carried is not null) and deleted_at is null and due.amount > 0;

-- Without a phone number, of a patient. Keys of an index lead, so that a page in their order reads a page's receipts.
create or replace view dues_by_phone as
select
  business_id, phone_key(mobile) as phone, case when phone_key(mobile) is null then patient_id end as patient,
  max(mobile) as mobile, jsonb_agg(distinct patient_id) filter (where patient_id <> '') as patient_ids,
  count(*) as receipts, sum(due_amount) as due_amount, min(day) as oldest_day, max(day) as newest_day,
  min(receipt_id) as first_receipt_id
from reporting.outstanding_receipts
group by business_id, phone_key(mobile), case when phone_key(mobile) is null then patient_id end;

-- The first receipt identifies the row.
create or replace view reporting.outstanding_by_phone as
select business_id, mobile, patient_ids, receipts, due_amount, oldest_day, newest_day, first_receipt_id
from dues_by_phone;

comment on view reporting.all_receipts         is 'The newest version of each receipt, deleted ones included';
comment on view reporting.receipts             is 'The newest version of each receipt, without deleted ones';
comment on view reporting.deleted_receipts     is 'The newest version of each deleted receipt';
comment on view reporting.outstanding_receipts is 'Receipts with an amount due';
comment on view reporting.outstanding_by_phone is 'The amounts due of each phone number; without a number, of each patient';
comment on view reporting.receipt_history      is 'Every version of each receipt, one row each; order by version';
comment on view reporting.receipt_statements   is 'What each callback about a receipt said, as JSON: receipts_as_of is made from it';
comment on view reporting.receipts_daily       is 'Totals of the receipts of a day, for each business, clinic and doctor';

comment on function reporting.receipts_as_of   is 'The rows of all_receipts at a moment in the past: one for each receipt that was already applied, deleted ones included';

comment on column reporting.all_receipts.business_id                is 'The business, by its id in the platform';
comment on column reporting.all_receipts.receipt_id                 is 'The receipt; unique within its business';
comment on column reporting.all_receipts.receipt_number             is 'The number printed on the receipt; null if the platform sends none';
comment on column reporting.all_receipts.day                        is 'The day on which the receipt was issued';
comment on column reporting.all_receipts.issued_at                  is 'When the receipt was created; if the platform does not send that, the time of its earliest event';
comment on column reporting.all_receipts.updated_at                 is 'When the platform last changed the receipt, by its own clock';
comment on column reporting.all_receipts.deleted_at                 is 'When it was deleted; null: not deleted';
comment on column reporting.all_receipts.clinic_id                  is 'The clinic';
comment on column reporting.all_receipts.doctor_id                  is 'The doctor (doctor_oid)';
comment on column reporting.all_receipts.patient_id                 is 'The patient (patient_oid)';
comment on column reporting.all_receipts.name                       is 'The name on the receipt';
comment on column reporting.all_receipts.mobile                     is 'The mobile number on the receipt';
comment on column reporting.all_receipts.status                     is 'The status that the platform sends (receipt_status), such as SUCCESS';
comment on column reporting.all_receipts.gross_amount               is 'Amount before discounts (receipt_amount)';
comment on column reporting.all_receipts.item_discount_amount       is 'Discounts on single items (sku_discount_amount)';
comment on column reporting.all_receipts.additional_discount_type   is 'How the additional discount was given, such as AMOUNT';
comment on column reporting.all_receipts.additional_discount_value  is 'The additional discount as it was entered: an amount or a percentage, see its type';
comment on column reporting.all_receipts.additional_discount_amount is 'The additional discount';
comment on column reporting.all_receipts.net_amount                 is 'Amount to pay after discounts, as the platform computed it; computed from the amounts if one of them was told later';
comment on column reporting.all_receipts.paid_amount                is 'Amount paid so far (amount_paid); null if the platform does not send it';
comment on column reporting.all_receipts.due_amount                 is 'Amount still to pay (amount_due); computed if what is to be paid, or was paid, was told later';
comment on column reporting.all_receipts.payment_id                 is 'The payment';
comment on column reporting.all_receipts.payment_link               is 'Where it can be paid';
comment on column reporting.all_receipts.transaction_reference      is 'Reference of the payment at its provider (ref_trx_id)';
comment on column reporting.all_receipts.pdf_url                    is 'The receipt as a PDF';
comment on column reporting.all_receipts.remarks                    is 'Remarks on the receipt';
comment on column reporting.all_receipts.actor                      is 'Who issued it, such as doctor';
comment on column reporting.all_receipts.flavour                    is 'A field that the interface does not explain';
comment on column reporting.all_receipts.archive                    is '0 or 1; the interface does not explain it';
comment on column reporting.all_receipts.aid                        is 'The appointment; an id of another kind is possible, because the interface does not explain it';
comment on column reporting.all_receipts.client_id                  is 'The client of the platform that sent it';
comment on column reporting.all_receipts.last_event                 is 'The event that made this row';
comment on column reporting.all_receipts.event_time                 is 'When that event happened';
comment on column reporting.all_receipts.delivery_id                is 'The delivery that this row was written from';
comment on column reporting.all_receipts.received_at                is 'When that delivery was first received';
comment on column reporting.all_receipts.applied_at                 is 'When it was applied to the table';

comment on column reporting.receipt_statements.statement is 'The row that the callback alone would make, and its place among the versions';
select copy_column_comments('reporting.all_receipts', 'reporting.receipts', 'reporting.deleted_receipts',
                            'reporting.outstanding_receipts', 'reporting.outstanding_by_phone',
                            'reporting.receipts_daily', 'reporting.receipt_history', 'reporting.receipt_statements');

comment on column reporting.deleted_receipts.deleted_at is 'When it was deleted';

comment on column reporting.outstanding_receipts.days_outstanding is 'Days since it was issued';

comment on column reporting.outstanding_by_phone.patient_ids is 'The patients of these receipts';
comment on column reporting.outstanding_by_phone.receipts    is 'Number of receipts with an amount due';
comment on column reporting.outstanding_by_phone.due_amount  is 'Amount due of these receipts';
comment on column reporting.outstanding_by_phone.oldest_day  is 'The day of the oldest of these receipts';
comment on column reporting.outstanding_by_phone.newest_day  is 'The day of the newest of these receipts';
comment on column reporting.outstanding_by_phone.first_receipt_id is 'The least id of these receipts';

comment on column reporting.receipts_daily.clinic_id          is 'The clinic; null: receipts without a clinic, and erased receipts';
comment on column reporting.receipts_daily.doctor_id          is 'The doctor; null: receipts without a doctor, and erased receipts';
comment on column reporting.receipts_daily.day                is 'The day on which the receipts were issued';
comment on column reporting.receipts_daily.receipts           is 'Number of receipts, without deleted ones';
comment on column reporting.receipts_daily.gross_amount       is 'Amount before discounts';
comment on column reporting.receipts_daily.discount_amount    is 'Discounts on items plus additional discounts';
comment on column reporting.receipts_daily.net_amount         is 'Amount to pay after discounts';
comment on column reporting.receipts_daily.paid_amount        is 'Amount paid so far';
comment on column reporting.receipts_daily.due_amount         is 'Amount due';
comment on column reporting.receipts_daily.deleted_receipts   is 'Number of the day’s receipts that were deleted; the columns without "deleted" do not include them';
comment on column reporting.receipts_daily.deleted_net_amount is 'Amount to pay of the deleted receipts after discounts';

comment on column reporting.receipt_history.version     is 'The number of the version, from 1; the highest is the current one';
comment on column reporting.receipt_history.event       is 'The event: receipt.created, receipt.updated or receipt.deleted';
comment on column reporting.receipt_history.event_time  is 'When it happened';
comment on column reporting.receipt_history.day         is 'The day on which the callback was received';
comment on column reporting.receipt_history.received_at is 'When the callback was first received';
comment on column reporting.receipt_history.applied_at  is 'When it was applied to the table';
comment on column reporting.receipt_history.issued_at   is 'When the receipt was created; if the version does not contain that, the time of its event';
comment on column reporting.receipt_history.deleted_at  is 'When this version deleted the receipt; null: it is no deletion';
comment on column reporting.receipt_history.delivery_id is 'The delivery that contained this version';
