-- Receipts and their versions. The common columns are listed once, for all views of receipts.

-- Orders versions that have the same event time, as the worker does: without the time of its change a deletion is the
-- last of its second, and any other event the first.
create or replace function reporting.change_time(event text, updated_at timestamptz) returns timestamptz
  language sql immutable parallel safe
  return case
    when event = 'receipt.deleted' then coalesce(updated_at, 'infinity')
    when event = 'appointment.reconciled' then '-infinity'
    else coalesce(updated_at, '-infinity')
  end;

-- When two events have the same time, the later one in the life cycle is newer, as in the worker.
create or replace function reporting.rank(event text) returns integer
  language sql immutable parallel safe
  return array_position(array[
    'receipt.created', 'receipt.updated', 'receipt.deleted',
    'appointment.reconciled', 'appointment.created', 'appointment.updated', 'appointment.statuschange', 'appointment.assessments.taken'
  ], event);

do $do$
declare
  -- Add new columns at the end: otherwise PostgreSQL cannot replace the view in place.
  shown constant text := $$
    receipt_number,
    coalesce(created_at, event_time) as issued_at,
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
    net_amount,
    amount_paid as paid_amount,
    amount_due as due_amount,
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
    select business_id, receipt_id, reporting.day(coalesce(created_at, event_time)) as day, last_event, deleted_at, %s
    from receipts
  $$, shown);

  execute format($$
    create or replace view reporting.receipts as
    select business_id, receipt_id, reporting.day(coalesce(created_at, event_time)) as day, last_event, %s
    from receipts
    where deleted_at is null
  $$, shown);

  -- The newest version is in receipts, the others are in receipt_versions.
  execute format($$
    create or replace view reporting.receipt_history as
    select
      business_id, receipt_id,
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
      last_event as event, reporting.day(received_at) as day, deleted_at, %s
    from (select %2$s from receipts union all select %2$s from receipt_versions) v
  $$, shown, version_columns('receipts'));

  -- A row whose version was applied by the moment is returned as it is. For the others, the newest version
  -- applied by that moment is looked up; a receipt without one had not been received yet.
  execute format($$
    create or replace function reporting.receipts_as_of(moment timestamptz) returns setof reporting.all_receipts
      language sql stable parallel safe
    begin atomic
      select * from reporting.all_receipts where applied_at <= moment
      union all
      select %s
      from reporting.all_receipts r
      cross join lateral (
        select *
        from reporting.receipt_history h
        where h.business_id = r.business_id and h.receipt_id = r.receipt_id and h.applied_at <= moment
        order by h.event_time desc, reporting.change_time(h.event, h.updated_at) desc,
                 reporting.rank(h.event) desc, h.delivery_id desc
        limit 1
      ) h
      where r.applied_at > moment;
    end
  $$, (
    -- The columns of all_receipts, from receipt_history; the key from r, so that a condition on the business
    -- uses an index.
    select string_agg(
      case
        when attname in ('business_id', 'receipt_id') then 'r.' || attname
        when attname = 'day' then 'reporting.day(h.issued_at)'
        when attname = 'last_event' then 'h.event'
        else format('h.%I', attname)
      end, ', ' order by attnum)
    from pg_attribute
    where attrelid = 'reporting.all_receipts'::regclass and attnum > 0 and not attisdropped
  ));
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

create or replace view reporting.outstanding_receipts as
select
  business_id, receipt_id, receipt_number, day, issued_at, reporting.today() - day as days_outstanding,
  clinic_id, doctor_id, patient_id, name, mobile, net_amount, paid_amount, due_amount, payment_link, pdf_url
from reporting.receipts
where due_amount > 0;

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
comment on view reporting.receipts_daily       is 'Totals of the receipts of a day, for each business, clinic and doctor';

comment on function reporting.receipts_as_of   is 'The rows of all_receipts at a moment in the past: one for each receipt that was already applied, deleted ones included';
comment on function reporting.change_time      is 'Orders versions of a receipt or an appointment that have the same event time: by the time of the change; without one, a deletion is last and any other event first';
comment on function reporting.rank             is 'The position of an event in the life cycle of a receipt or an appointment';

comment on column reporting.all_receipts.business_id                is 'The business, by its id in the platform';
comment on column reporting.all_receipts.receipt_id                 is 'The receipt; unique within its business';
comment on column reporting.all_receipts.receipt_number             is 'The number printed on the receipt; null if the platform sends none';
comment on column reporting.all_receipts.day                        is 'The day on which the receipt was issued';
comment on column reporting.all_receipts.issued_at                  is 'When the receipt was created; if the platform does not send that, the time of its last event';
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
comment on column reporting.all_receipts.net_amount                 is 'Amount to pay after discounts, as the platform computed it';
comment on column reporting.all_receipts.paid_amount                is 'Amount paid so far (amount_paid); null if the platform does not send it';
comment on column reporting.all_receipts.due_amount                 is 'Amount still to pay (amount_due)';
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

select copy_column_comments('reporting.all_receipts', 'reporting.receipts', 'reporting.deleted_receipts',
                            'reporting.outstanding_receipts', 'reporting.outstanding_by_phone',
                            'reporting.receipts_daily', 'reporting.receipt_history');

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
