-- Sums of receipts, consent forms, review requests and payment requests: kept for the days that did not change since they were made, computed for the
-- others. So in each snapshot they are the sums over its rows.

create or replace view live_activities as
select
  business_id, clinic_id, doctor_id, day,
  count(*) filter (where kind = 'receipt') as receipts,
  coalesce(sum(gross_amount) filter (where kind = 'receipt'), 0) as gross_amount,
  coalesce(sum(discount_amount) filter (where kind = 'receipt'), 0) as discount_amount,
  coalesce(sum(net_amount) filter (where kind = 'receipt'), 0) as net_amount,
  coalesce(sum(paid_amount) filter (where kind = 'receipt'), 0) as paid_amount,
  coalesce(sum(due_amount) filter (where kind = 'receipt'), 0) as due_amount,
  count(*) filter (where kind = 'deleted receipt') as deleted_receipts,
  coalesce(sum(net_amount) filter (where kind = 'deleted receipt'), 0) as deleted_net_amount,
  count(*) filter (where kind = 'consent form') as consent_forms,
  count(*) filter (where kind = 'review request') as review_requests,
  coalesce(sum(item_discount_amount) filter (where kind = 'receipt'), 0) as item_discount_amount,
  count(*) filter (where is_outstanding) as outstanding_receipts,
  coalesce(sum(net_amount) filter (where is_outstanding), 0) as outstanding_net_amount,
  coalesce(sum(paid_amount) filter (where is_outstanding), 0) as outstanding_paid_amount,
  coalesce(sum(due_amount) filter (where is_outstanding), 0) as outstanding_due_amount,
  count(*) filter (where kind = 'payment request') as payment_requests,
  coalesce(sum(net_amount) filter (where kind = 'payment request'), 0) as requested_amount
from (
  select business_id, clinic_id, doctor_oid as doctor_id,
         reporting.day(coalesce(created_at, first_event_time, event_time)) as day,
         case when deleted_at is null then 'receipt' else 'deleted receipt' end as kind, receipt_amount as gross_amount,
         sku_discount_amount as item_discount_amount,
         coalesce(sku_discount_amount, 0) + coalesce(additional_discount_amount, 0) as discount_amount,
         net_of(carried, net_amount, receipt_amount, sku_discount_amount, additional_discount_amount) as net_amount,
         amount_paid as paid_amount, due.amount as due_amount, deleted_at is null and due.amount > 0 as is_outstanding
  from receipts
  cross join lateral (
    select due_of(carried, amount_due, amount_paid, net_amount, receipt_amount, sku_discount_amount, additional_discount_amount) as amount
  ) due
  union all
  select business_id, null, null, day, case when is_deleted then 'deleted receipt' else 'receipt' end, receipt_amount,
         sku_discount_amount, coalesce(sku_discount_amount, 0) + coalesce(additional_discount_amount, 0), net_amount,
         amount_paid, amount_due, false
  from erased_receipts
  union all
  -- A consent form has no clinic.
  select business_id, null, docid, reporting.day(event_time), 'consent form', null, null, null, null, null, null, false
  from consent_forms where deleted_at is null
  union all
  select business_id, clinic_id, doctor_id, reporting.day(event_time), 'review request', null, null, null, null, null, null,
         false
  from review_requests where deleted_at is null
  union all
  select business_id, null, doctor_id, reporting.day(event_time), 'payment request', null, null, null, net_amount, null, null,
         false
  from payment_requests where deleted_at is null
) activities
group by business_id, clinic_id, doctor_id, day;

-- The estimate keeps PostgreSQL from comparing each kept sum with each outdated day, whatever it knows of a table that is filled and
-- emptied all the time. With the rights of the owner, because views call it with those of the reader.
create or replace function outdated(kind_of_sums text) returns table (business_id text, day date)
  language sql stable security definer parallel safe rows 10000
  set search_path = pg_catalog, pg_temp
begin atomic
  select distinct o.business_id, o.day from outdated_days o where o.sums = kind_of_sums;
end;
comment on function outdated is 'The days whose sums are outdated; -infinity: every day of the business';

create or replace function outdated_months(kind_of_sums text) returns table (business_id text, day date)
  language sql stable security definer parallel safe rows 1000
  set search_path = pg_catalog, pg_temp
begin atomic
  select distinct o.business_id, month_of(o.day) from outdated_days o where o.sums = kind_of_sums;
end;
comment on function outdated_months is 'The first days of the months in which there are outdated ones';

-- Writes summed_<table>: the kept sums of days, or of months, that are not outdated, and those of live_<table> for the others. "not in":
-- looked up in a hash table, whichever rows are selected. "offset 0": each outdated day is looked up by itself.
create or replace function write_summed_view(kind_of_sums text, sums_table text, outdated text) returns void
  language plpgsql set search_path from current
as $$
declare
  shown text;
begin
  select string_agg(quote_ident(attname), ', ' order by attnum) into shown
  from pg_attribute where attrelid = format('live_%s', sums_table)::regclass and attnum > 0 and not attisdropped;
  execute format(
    $view$
      create or replace view summed_%1$s as
      select %3$s
      from kept_%1$s
      where (business_id, day) not in (select o.business_id, o.day from %5$I(%2$L) o)
        and business_id not in (select o.business_id from %5$I(%2$L) o where o.day = '-infinity')
      union all
      select %4$s
      from %5$I(%2$L) changed
      cross join lateral (
        select %3$s from live_%1$s live where live.business_id = changed.business_id and live.day = changed.day offset 0
      ) live
      where changed.day > '-infinity'
        and not exists (select from %5$I(%2$L) o where o.business_id = changed.business_id and o.day = '-infinity')
      union all
      select %3$s
      from live_%1$s
      where exists (select from %5$I(%2$L) where day = '-infinity')
        and business_id in (select o.business_id from %5$I(%2$L) o where o.day = '-infinity')
    $view$,
    sums_table, kind_of_sums, shown,
    -- From "changed", so that a condition on them chooses the outdated days.
    regexp_replace(shown, '\m(business_id|day)\M', 'changed.\1', 'g'),
    outdated);
end
$$;

-- Writes live_<table>, the sums of <source> over what is not a key. "day": the expression that it is summed by.
create or replace function write_live_sums(sums_table text, source text, day text, variadic keys text[]) returns void
  language plpgsql set search_path from current
as $$
declare
  shown text;
begin
  select string_agg(
    case when attname = 'day' then day || ' as day'
         when attname = any(keys) then quote_ident(attname)
         else format('sum(%1$I)::%2$s as %1$I', attname, format_type(atttypid, null)) end,
    ', ' order by attnum) into shown
  from pg_attribute
  where attrelid = source::regclass and attnum > 0 and not attisdropped
    and (attname = any(keys) or atttypid in ('bigint'::regtype, 'numeric'::regtype));
  execute format('create or replace view live_%1$s as select %2$s from %3$s group by %4$s',
    sums_table, shown, source, array_to_string(array_replace(keys, 'day', day), ', '));
end
$$;

select write_live_sums('activity_days', 'live_activities', 'day', 'business_id', 'day');
select write_summed_view('activities', 'activities', 'outdated');
select write_summed_view('activities', 'activity_days', 'outdated');
-- From what is shown of the days, which is checked against the rows.
select write_live_sums('doctor_months', 'summed_activities', 'month_of(day)', 'business_id', 'clinic_id', 'doctor_id', 'day');
select write_live_sums('activity_months', 'summed_activity_days', 'month_of(day)', 'business_id', 'day');
select write_summed_view('activities', 'doctor_months', 'outdated_months');
select write_summed_view('activities', 'activity_months', 'outdated_months');
