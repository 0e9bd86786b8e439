import { sql } from 'kysely';
import { readColumns } from '../../src/reports/columns.ts';
import { reports } from '../../src/reports/reports.ts';
import type { Db } from '../../src/store/tables.ts';

const receiptsDaily = `
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
    group by business_id, clinic_id, doctor_id, day`;

const activitiesBy = (keys: string, doctors: boolean) => {
  return `
    select
      ${keys}, sum(receipts) as receipts, sum(gross_amount) as gross_amount, sum(discount_amount) as discount_amount,
      sum(net_amount) as net_amount, sum(paid_amount) as paid_amount, sum(due_amount) as due_amount,
      sum(deleted_receipts) as deleted_receipts, sum(deleted_net_amount) as deleted_net_amount,
      sum(payment_requests) as payment_requests, sum(requested_amount) as requested_amount,
      sum(consent_forms) as consent_forms, sum(review_requests) as review_requests
    from (
      select business_id, ${doctors ? 'clinic_id, doctor_id, ' : ''}day, date_trunc('month', day)::date as month, receipts,
             gross_amount, discount_amount, net_amount, paid_amount, due_amount, deleted_receipts,
             deleted_net_amount, 0 as payment_requests, 0 as requested_amount, 0 as consent_forms, 0 as review_requests
      from (${receiptsDaily}) receipts
      union all
      select business_id, ${doctors ? 'null, doctor_id, ' : ''}day, date_trunc('month', day)::date, 0, 0, 0, 0, 0, 0, 0, 0, 1,
             coalesce(net_amount, 0), 0, 0
      from reporting.payment_requests
      union all
      select business_id, ${doctors ? 'clinic_id, doctor_id, ' : ''}day, date_trunc('month', day)::date, 0, 0, 0, 0, 0, 0, 0, 0, 0,
             0, consent_forms, review_requests
      from reporting.activities
      where receipts = 0
    ) activities group by ${keys}`;
};

/** The daily views, as sums over the rows of other views and tables, without what is kept. */
const sumsOverRows: Record<string, string> = {
  receipts_daily: receiptsDaily,
  ...Object.fromEntries(
    ['doctor', 'clinic'].map((who) => [
      `${who}s_daily`,
      `select business_id, ${who}_id, day, sum(receipts) as receipts, coalesce(sum(net_amount), 0) as net_amount,
              coalesce(sum(due_amount), 0) as due_amount, sum(consent_forms) as consent_forms,
              sum(review_requests) as review_requests
       from reporting.activities group by business_id, ${who}_id, day`,
    ]),
  ),
  businesses_daily: activitiesBy('business_id, day', false),
  activities_monthly: activitiesBy('business_id, clinic_id, doctor_id, month', true),
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
      count(*) filter (where state = 'no_show') as no_show,
      count(*) filter (where state = 'aborted') as aborted,
      count(*) filter (where state = 'rescheduled') as rescheduled,
      count(*) filter (where state = 'other') as other,
      round(avg((state like 'completed%')::integer) filter (where state <> 'rescheduled'), 4) as completed_share,
      round(avg((state like 'cancelled%')::integer) filter (where state <> 'rescheduled'), 4) as cancelled_share,
      round(avg((state = 'no_show')::integer) filter (where state <> 'rescheduled'), 4) as no_show_share,
      round(avg((state = 'rescheduled')::integer), 4) as rescheduled_share,
      round(avg((state = 'completed_without_prescription')::integer) filter (where state like 'completed%'), 4)
        as without_prescription_share,
      round(extract(epoch from avg(completed_at - booked_at)) / 3600, 2) as completion_average_hours,
      round(extract(epoch from percentile_cont(0.5) within group (order by completed_at - booked_at)) / 3600, 2)
        as completion_median_hours
    from reporting.appointments
    group by business_id, clinic_id, doctor_id, day`,
  deliveries_daily: `
    select business_id, family, day, sum(received) as received, sum(applied) as applied, sum(failed) as failed,
           sum(waiting) as waiting, sum(quarantined) as quarantined, sum(duplicates) as duplicates, sum(reconciled) as reconciled
    from reporting.delivery_health group by business_id, family, day`,
};

/** The rows in which one query differs from another: one statement, so one snapshot. */
const difference = (ours: string, theirs: string) => `
  with ours as materialized (${ours}), theirs as materialized (${theirs})
  (select 'sums' as found_in, * from (table ours except all table theirs) surplus)
  union all
  (select 'rows', * from (table theirs except all table ours) missing)`;

/** Queries, by what they compare, for the differences of sums from the rows: of the daily views, and of a report's totals. */
export async function readDifferences(db: Db): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [view, theirs] of Object.entries(sumsOverRows))
    found[view] = difference(`select * from reporting.${view}`, theirs);
  for (const report of reports) {
    const { view, summed } = report;
    if (!summed || report.rowsOf) continue;
    const names = (await readColumns(db, report)).map(({ name }) => name);
    for (const [by, byDoctor, ofMonths] of [
      ['day', false, false],
      ['month', false, true],
      ['doctor and day', true, false],
      ['doctor and month', true, true],
    ] as const) {
      if (byDoctor && !summed.byDoctor) continue;
      const kept = [
        'business_id',
        ...(ofMonths ? [] : ['day']),
        ...(byDoctor ? ['clinic_id', 'doctor_id'] : []),
      ].filter((key) => names.includes(key));
      const months = ofMonths ? { first: undefined, end: undefined } : undefined;
      const keys = [...kept, ...summed.columns.filter((name) => name === 'state')];
      const values = summed.columns.filter((name) => name !== 'state');
      const select = (from: string, value: (name: string) => string) => `
        select * from (
          select ${[...keys, ...values.map((name) => `${value(name)} as ${name}`)].join(', ')} from ${from}
          group by ${keys.join(', ')}
        ) summed where ${values.map((name) => `${name} <> 0`).join(' or ')}`;
      const sum = (name: string) => `coalesce(sum(${name}), 0)`;
      const sums = `(${summed.from(byDoctor, kept, sql`true`, months).compile(db).sql}) sums`;
      found[`totals of ${view} by ${by}`] = difference(
        select(sums, sum),
        select(`reporting.${view}`, (name) => (name === 'rows' ? 'count(*)' : sum(name))),
      );
    }
  }
  return found;
}
