/** The daily views, as sums over the rows of other views and tables, without what is kept. */
export const sumsOverRows: Record<string, string> = {
  receipts_daily: `
    select
      business_id, clinic_id, doctor_id, day,
      count(*) filter (where not is_deleted) as receipts,
      coalesce(sum(gross_amount) filter (where not is_deleted), 0) as gross_amount,
      coalesce(sum(coalesce(item_discount_amount, 0) + coalesce(additional_discount_amount, 0))
               filter (where not is_deleted), 0) as discount_amount,
      coalesce(sum(net_amount) filter (where not is_deleted), 0) as net_amount,
      coalesce(sum(paid_amount) filter (where not is_deleted), 0) as paid_amount,
      coalesce(sum(due_amount) filter (where not is_deleted), 0) as due_amount,
      count(*) filter (where is_deleted) as deleted_receipts,
      coalesce(sum(net_amount) filter (where is_deleted), 0) as deleted_net_amount
    from (
      select business_id, clinic_id, doctor_id, day, deleted_at is not null as is_deleted, gross_amount,
             item_discount_amount, additional_discount_amount, net_amount, paid_amount, due_amount
      from reporting.all_receipts
      union all
      select business_id, null, null, day, is_deleted, receipt_amount, sku_discount_amount, additional_discount_amount,
             net_amount, amount_paid, amount_due
      from erased_receipts
    ) receipts
    group by business_id, clinic_id, doctor_id, day`,
  ...Object.fromEntries(
    ['doctor', 'clinic'].map((who) => [
      `${who}s_daily`,
      `select business_id, ${who}_id, day, sum(receipts) as receipts, coalesce(sum(net_amount), 0) as net_amount,
              coalesce(sum(due_amount), 0) as due_amount, sum(consent_forms) as consent_forms,
              sum(review_requests) as review_requests
       from reporting.activities group by business_id, ${who}_id, day`,
    ]),
  ),
  appointments_daily: `
    select
      business_id, clinic_id, doctor_id, day,
      count(*) as appointments,
      count(*) filter (where state = 'booked') as booked,
      count(*) filter (where state = 'ongoing') as ongoing,
      count(*) filter (where state like 'completed%') as completed,
      count(*) filter (where state = 'completed_without_prescription') as completed_without_prescription,
      count(*) filter (where state like 'cancelled%') as cancelled,
      count(*) filter (where state = 'cancelled_by_patient') as cancelled_by_patient,
      count(*) filter (where state = 'cancelled_by_doctor') as cancelled_by_doctor,
      count(*) filter (where state = 'cancelled_by_staff') as cancelled_by_staff,
      count(*) filter (where state = 'other') as other,
      round(avg((state like 'completed%')::integer), 4) as completed_share,
      round(avg((state like 'cancelled%')::integer), 4) as cancelled_share,
      round(avg((state = 'completed_without_prescription')::integer) filter (where state like 'completed%'), 4)
        as without_prescription_share,
      round(extract(epoch from avg(completed_at - booked_at)) / 3600, 2) as completion_average_hours,
      round(extract(epoch from percentile_cont(0.5) within group (order by completed_at - booked_at)) / 3600, 2)
        as completion_median_hours
    from reporting.appointments
    group by business_id, clinic_id, doctor_id, day`,
};

/** The rows in which a daily view differs from the sums over the rows: one statement, so one snapshot. */
export const isDifferentFrom = (view: string) => `
  with ours as materialized (select * from reporting.${view}), theirs as materialized (${sumsOverRows[view]})
  (select 'view' as found_in, * from (table ours except all table theirs) surplus)
  union all
  (select 'rows', * from (table theirs except all table ours) missing)`;
