-- What the reconciliation follows up: payments of receipts, and prescriptions that appointments name.

create table payments (
  business_id    text        not null,
  payment_id     text        not null,
  receipt_id     bigint      not null,
  amount         numeric,
  mode           text,
  gateway        text,
  rrn            text,
  status         text,
  created_at     timestamptz,
  extra          jsonb       not null,
  first_asked_at timestamptz not null default clock_timestamp(),
  asked_at       timestamptz not null default clock_timestamp(),
  ask_again_at   timestamptz,
  primary key (business_id, payment_id)
);
create index payments_of_receipt on payments (business_id, receipt_id);
create index payments_due on payments (business_id, ask_again_at) where ask_again_at is not null;
create index payments_day on payments using brin (reporting.day(coalesce(created_at, first_asked_at)) date_minmax_multi_ops);
comment on table  payments                is 'Payments of receipts, as the platform told them when it was asked. Each is deleted with its receipt';
comment on column payments.receipt_id     is 'The receipt that names the payment';
comment on column payments.mode           is 'Such as UPI';
comment on column payments.rrn            is 'The bank''s reference';
comment on column payments.status         is 'Such as PAYMENT_SUCCESS; null: the platform does not know the payment';
comment on column payments.extra          is 'Fields that are not documented';
comment on column payments.first_asked_at is 'When the platform was asked for the first time';
comment on column payments.asked_at       is 'When the platform was asked for the last time';
comment on column payments.ask_again_at   is 'When it is asked again; null: the status is final, or it is not asked any more';

create table named_prescriptions (
  business_id     text        not null,
  prescription_id text        not null,
  appointment_id  text        not null,
  day             date        not null,
  delivery_id     uuid        not null,
  first_asked_at  timestamptz not null default clock_timestamp(),
  ask_again_at    timestamptz default clock_timestamp(),
  primary key (business_id, prescription_id)
);
create index named_prescriptions_due on named_prescriptions (business_id, ask_again_at) where ask_again_at is not null;
create index named_prescriptions_delivery on named_prescriptions (delivery_id);
comment on table  named_prescriptions                is 'Prescriptions that appointments name and that had not come: the platform is asked for them';
comment on column named_prescriptions.day            is 'The day of the appointment';
comment on column named_prescriptions.delivery_id    is 'The delivery of the appointment''s row';
comment on column named_prescriptions.first_asked_at is 'Since when it is asked for';
comment on column named_prescriptions.ask_again_at   is 'When the platform is asked; null: the prescription was read, or it is not asked any more';

create table inferred_days (
  business_id text        not null,
  family      text        not null,
  day         date        not null,
  missing     bigint      not null,
  inferred_at timestamptz not null default clock_timestamp(),
  primary key (business_id, day, family)
);
comment on table inferred_days is 'How many records of a day never came, by what the others name: counted with each pass, because a report counts too long';

create function forget_payments() returns trigger language plpgsql set search_path from current as $$
begin
  if tg_op = 'TRUNCATE' then
    truncate payments;
    return null;
  end if;
  delete from payments p using deleted d where p.business_id = d.business_id and p.receipt_id = d.receipt_id;
  return null;
end
$$;
create trigger forget_payments after delete on receipts
  referencing old table as deleted for each statement execute function forget_payments();
create trigger forget_payments_truncated after truncate on receipts
  for each statement execute function forget_payments();

create or replace function forget_reconciled() returns trigger language plpgsql set search_path from current as $$
begin
  if tg_op = 'TRUNCATE' then
    truncate reconciled_deliveries, unknown_records, named_prescriptions;
    return null;
  end if;
  delete from reconciled_deliveries r using deleted d where r.id = d.id;
  delete from unknown_records u using deleted d where u.delivery_id = d.id;
  delete from named_prescriptions n using deleted d where n.delivery_id = d.id;
  return null;
end
$$;

-- As before; but a delivery of the reconciliation tells what was so long ago: it is judged by the time of booking, or at which a
-- prescription was made. Without that time it counts as erased.
create or replace function refused_deliveries(ids uuid[], families text[], envelopes jsonb[], patients jsonb[]) returns setof uuid
  language plpgsql stable strict parallel safe rows 1
as $$
begin
  return query
  select d.id
  from unnest(ids, families, envelopes, patients) as d (id, family, envelope, patients)
  cross join (select salt from erasure_salt limit 1) salts
  cross join lateral (
    select erasure_hashes(salt, thing_family(d.family), coalesce(d.envelope->>'business_id', ''),
                          thing_of(d.family, d.envelope), patient_of(d.envelope))
           || case when d.patients is not null then array(
                select unnest(erasure_hashes(salt, thing_family(d.family), coalesce(d.envelope->>'business_id', ''),
                                             thing_of(d.family, d.envelope), named))
                from jsonb_array_elements_text(d.patients) as named
              ) end as hashes offset 0
  ) about
  where exists (
    select from erased e
    where e.hash = any(about.hashes) and e.until >= coalesce(callback_time(
      case when d.envelope->>'event' in ('appointment.reconciled', 'prescription.reconciled')
           then d.envelope #> '{data,created_at}'
           else d.envelope->'event_time' end), '-infinity')
  );
end
$$;
