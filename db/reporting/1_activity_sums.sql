-- Sums of receipts, consent forms and review requests: kept for the days that did not change since they were made, computed for the
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
  count(*) filter (where kind = 'review request') as review_requests
from (
  select business_id, clinic_id, doctor_oid as doctor_id, reporting.day(coalesce(created_at, event_time)) as day,
         case when deleted_at is null then 'receipt' else 'deleted receipt' end as kind, receipt_amount as gross_amount,
         coalesce(sku_discount_amount, 0) + coalesce(additional_discount_amount, 0) as discount_amount, net_amount,
         amount_paid as paid_amount, amount_due as due_amount
  from receipts
  union all
  select business_id, null, null, day, case when is_deleted then 'deleted receipt' else 'receipt' end, receipt_amount,
         coalesce(sku_discount_amount, 0) + coalesce(additional_discount_amount, 0), net_amount, amount_paid, amount_due
  from erased_receipts
  union all
  -- A consent form has no clinic.
  select business_id, null, docid, reporting.day(event_time), 'consent form', null, null, null, null, null
  from consent_forms where deleted_at is null
  union all
  select business_id, clinic_id, doctor_id, reporting.day(event_time), 'review request', null, null, null, null, null
  from review_requests where deleted_at is null
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

-- "offset 0": each outdated day is looked up by itself.
create or replace view summed_activities as
select
  business_id, clinic_id, doctor_id, day, receipts, gross_amount, discount_amount, net_amount, paid_amount, due_amount,
  deleted_receipts, deleted_net_amount, consent_forms, review_requests
from kept_activities kept
where not exists (select from outdated('activities') o where o.business_id = kept.business_id and o.day = kept.day)
  and not exists (select from outdated('activities') o where o.business_id = kept.business_id and o.day = '-infinity')
union all
select
  changed.business_id, clinic_id, doctor_id, changed.day, receipts, gross_amount, discount_amount, net_amount, paid_amount,
  due_amount, deleted_receipts, deleted_net_amount, consent_forms, review_requests
from outdated('activities') changed
cross join lateral (
  select * from live_activities live where live.business_id = changed.business_id and live.day = changed.day offset 0
) live
where changed.day > '-infinity'
  and not exists (select from outdated('activities') o where o.business_id = changed.business_id and o.day = '-infinity')
union all
select
  business_id, clinic_id, doctor_id, day, receipts, gross_amount, discount_amount, net_amount, paid_amount, due_amount,
  deleted_receipts, deleted_net_amount, consent_forms, review_requests
from live_activities
where exists (select from outdated('activities') where day = '-infinity')
  and business_id in (select o.business_id from outdated('activities') o where o.day = '-infinity');
