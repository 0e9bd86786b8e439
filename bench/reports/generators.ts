/**
 * SQL functions that generate callbacks from numbers. The same number is always the same receipt, so that a later
 * day can update it. Amounts are in rupees with paise; clinics are open from 9 to 21 h.
 */
export const generators = `
drop schema if exists bench cascade;
create schema bench;

create function bench.chance(n bigint, salt bigint) returns double precision
  language sql immutable parallel safe
  return (hashint8extended(n, salt) & 2147483647) / 2147483648.0::double precision;

create function bench.business(n bigint) returns text
  language sql immutable parallel safe
  return '2' || lpad(floor(200 * power(bench.chance(n, 1), 2.5))::text, 14, '0');

create function bench.moment(n bigint, day bigint, days integer, salt bigint) returns timestamptz
  language sql stable parallel safe
  return date_trunc('day', now() - interval '1 day' * (days - day), 'Asia/Kolkata')
         + interval '9 hours' + bench.chance(n, salt) * interval '12 hours';

create function bench.envelope(n bigint, event text, at timestamptz, data jsonb) returns jsonb
  language sql stable parallel safe
  return jsonb_build_object('event', event, 'event_time', floor(extract(epoch from at))::bigint,
    'timestamp', floor(extract(epoch from at))::bigint + 1, 'client_id', '64a1f0c2e4b0a1b2c3d4e5f6',
    'business_id', bench.business(n), 'data', data);

create function bench.receipt(n bigint, created timestamptz, updated timestamptz, settled boolean) returns jsonb
  language sql stable parallel safe
begin atomic
  select jsonb_build_object(
    'receipt_id', n, 'aid', 'api-' || md5(n::text)::uuid,
    'doctor_oid', bench.business(n) || 'd' || n % 7, 'clinic_id', bench.business(n) || 'c' || n % 3,
    'patient_oid', (161000000000000 + n)::text, 'created_at', floor(extract(epoch from created) * 1000)::bigint,
    'updated_at', floor(extract(epoch from updated) * 1000)::bigint, 'receipt_number', null,
    'receipt_url', 'https://storage.example/receipts/' || md5(n::text) || '.pdf', 'receipt_status', 'SUCCESS',
    'receipt_amount', gross, 'additional_discount_value', 10, 'additional_discount_type', 'AMOUNT',
    'additional_discount_amount', 10, 'net_amount', gross - 10, 'name', 'Asha Sample ' || n % 1000,
    'mobile', '+915' || lpad(n::text, 9, '0'), 'flavour', null, 'sku_discount_amount', 0,
    'amount_due', due, 'archive', 0, 'remarks', '', 'ref_trx_id', '', 'payment_id', 'pay_' || n,
    'payment_link', 'https://pay.example/' || n, 'amount_paid', gross - 10 - due, 'actor', 'doctor')
  from (select gross, case when bench.chance(n, 3) < 0.15 and not settled then round(gross / 2, 2) else 0 end as due
        from (select round(100 + floor(bench.chance(n, 2) * 200000)::numeric / 100, 2) as gross) a) b;
end;

create function bench.receipts_of(today integer, per_day integer, days integer)
  returns table (n bigint, event text, at timestamptz, data jsonb)
  language sql stable
begin atomic
  select n, event, at, bench.receipt(n, created, at, event <> 'receipt.created')
  from generate_series((greatest(today - 5, 0))::bigint * per_day, (today + 1)::bigint * per_day - 1) as n
  cross join lateral (select bench.moment(n, n / per_day, days, 4) as created) c
  cross join lateral (
    select 'receipt.created' as event, created as at, n / per_day as day
    union all
    select 'receipt.updated', created + bench.chance(n, 5) * interval '10 minutes', n / per_day
    where bench.chance(n, 6) < 0.15
    union all
    select 'receipt.updated', bench.moment(n, today, days, 7), n / per_day + 1 + floor(bench.chance(n, 8) * 5)
    where bench.chance(n, 6) > 0.85
    union all
    select 'receipt.deleted', bench.moment(n, today, days, 9), n / per_day + 1 + floor(bench.chance(n, 8) * 5)
    where bench.chance(n, 10) < 0.02
  ) e
  where e.day = today;
end;

create function bench.others_of(today integer, per_day integer, days integer)
  returns table (n bigint, event text, at timestamptz, data jsonb)
  language sql stable
begin atomic
  select n, event, bench.moment(n, today, days, 11), case event
    when 'mcert.created' then jsonb_build_object(
      'docid', bench.business(n) || 'd' || n % 7, 'id', 'mc-' || n, 'owner', bench.business(n),
      'patientid', (161000000000000 + n)::text, 'sendurlpdf', 'https://storage.example/s/' || n,
      'url', 'https://storage.example/u/' || n)
    else jsonb_build_object(
      'doctor_id', bench.business(n) || 'd' || n % 7, 'clinic_id', bench.business(n) || 'c' || n % 3,
      'google_review_link', 'https://reviews.example/' || n, 'patient_id', (161000000000000 + n)::text,
      'appointment_id', 'd-' || md5(n::text)::uuid) end
  from generate_series(today::bigint * per_day, (today + 1)::bigint * per_day - 1) as n
  cross join lateral (values ('mcert.created', 12), ('google_review.request', 13)) as e (event, salt)
  where bench.chance(n, salt) < 0.1;
end;

create function bench.callbacks_of(today integer, per_day integer, days integer)
  returns table (id uuid, family text, event_time timestamptz, envelope jsonb, copies integer,
                 received_at timestamptz, lag interval)
  language sql stable
begin atomic
  select (lpad(to_hex(floor(extract(epoch from at))::bigint * 1000), 12, '0')
          || overlay(substr(md5(event || n || at), 1, 20) placing '8' from 1 for 1))::uuid,
         case split_part(event, '.', 1) when 'receipt' then 'receipt' when 'mcert' then 'consent_form'
           else 'review_request' end,
         date_trunc('second', at), bench.envelope(n, event, at, data),
         case when bench.chance(n, 14) < 0.03 then 2 else 1 end,
         at + (0.2 + bench.chance(n, 15) * 4) * interval '1 second',
         (0.01 + bench.chance(n, 16) * 0.3) * interval '1 second'
  from (select * from bench.receipts_of(today, per_day, days)
        union all select * from bench.others_of(today, per_day, days)) callbacks;
end;`;
