import { type RawBuilder, sql } from 'kysely';
import type { Months } from './ranges.ts';

/** The sums of a report's rows by business and day: kept, or made from the rows of days that have changed. */
export interface SummedRows {
  /** Columns with the names of the report's own; `rows` is how many rows there are, and is missing where they are sums. */
  columns: readonly string[];
  /** Whether they can be of one clinic or doctor. */
  byDoctor: boolean;
  /**
   * @param byDoctor whether they are by clinic and doctor too: five times as many rows
   * @param keys which of business_id, clinic_id, doctor_id and day it has
   * @param where a condition on any of these
   * @param months whole months among the days; the rows of these are of months, by their first day
   */
  from: (
    byDoctor: boolean,
    keys: readonly string[],
    where: RawBuilder<unknown>,
    months?: Months,
  ) => RawBuilder<unknown>;
}

/** SQL expressions by the names of columns. */
type Columns = Record<string, string>;

const select = (keys: readonly string[], columns: Columns) => {
  const named = Object.entries(columns).map(([name, expression]) => `${expression} as ${name}`);
  return sql.raw(`select ${[...keys, ...named].join(', ')}`);
};

const same = (...names: string[]): Columns => Object.fromEntries(names.map((name) => [name, name]));

interface Options {
  condition?: string;
  byDoctor?: boolean;
  /** What erased_receipts add: the sums contain those that stay in the totals, and a list of receipts does not. */
  erased?: { columns: Columns; condition?: string };
}

/** Sums of whole months, and of the other days. */
const sumsOf = (days: string, ofMonths: string, months: Months | undefined) => {
  if (!months) return sql.table(days);
  const { first, end } = months;
  const isBefore = first ? sql`day < ${first}::date` : sql`false`;
  const isAfter = end ? sql`day >= ${end}::date` : sql`false`;
  return sql`(
    select * from ${sql.table(ofMonths)} where not (${isBefore} or ${isAfter})
    union all
    select * from ${sql.table(days)} where ${isBefore} or ${isAfter}
  ) sums`;
};

const activities = (
  columns: Columns,
  { condition = 'true', byDoctor = true, erased }: Options = {},
): SummedRows => ({
  columns: Object.keys(columns),
  byDoctor,
  from: (byDoctor, keys, where, months) => {
    const table = byDoctor
      ? sumsOf('summed_activities', 'summed_doctor_months', months)
      : sumsOf('summed_activity_days', 'summed_activity_months', months);
    const sums = sql`${select(keys, columns)} from ${table} where ${where} and (${sql.raw(condition)})`;
    if (!erased) return sums;
    return sql`${sums} union all ${select(keys, erased.columns)}
      from (
        select business_id, null as clinic_id, null as doctor_id, day, is_deleted, receipt_amount, sku_discount_amount,
               additional_discount_amount, net_amount, amount_paid, amount_due
        from erased_receipts
      ) erased
      where ${where} and ${sql.raw(erased.condition ?? 'true')}`;
  },
});

const ofReceipts = same(
  'receipts',
  'gross_amount',
  'discount_amount',
  'net_amount',
  'paid_amount',
  'due_amount',
  'deleted_receipts',
  'deleted_net_amount',
);

export const receiptsDaily: SummedRows = activities(ofReceipts);

export const businessesDaily: SummedRows = activities(
  { ...ofReceipts, ...same('payment_requests', 'requested_amount', 'consent_forms', 'review_requests') },
  { byDoctor: false },
);

/** Doctors and clinics have the same columns. */
export const activitiesDaily: SummedRows = activities(
  same('receipts', 'net_amount', 'due_amount', 'consent_forms', 'review_requests'),
  { condition: 'receipts > 0 or consent_forms > 0 or review_requests > 0' },
);

export const receipts: SummedRows = activities(
  {
    rows: 'receipts',
    ...same('gross_amount', 'item_discount_amount'),
    additional_discount_amount: 'discount_amount - item_discount_amount',
    ...same('net_amount', 'paid_amount', 'due_amount'),
  },
  {
    erased: {
      columns: {
        rows: '-1',
        gross_amount: '-receipt_amount',
        item_discount_amount: '-sku_discount_amount',
        additional_discount_amount: '-additional_discount_amount',
        net_amount: '-net_amount',
        paid_amount: '-amount_paid',
        due_amount: '-amount_due',
      },
      condition: 'not is_deleted',
    },
  },
);

export const deletedReceipts: SummedRows = activities(
  { rows: 'deleted_receipts', net_amount: 'deleted_net_amount' },
  { erased: { columns: { rows: '-1', net_amount: '-net_amount' }, condition: 'is_deleted' } },
);

export const allReceipts: SummedRows = activities(
  { rows: 'receipts + deleted_receipts' },
  { erased: { columns: { rows: '-1' } } },
);

export const outstandingReceipts: SummedRows = activities({
  rows: 'outstanding_receipts',
  net_amount: 'outstanding_net_amount',
  paid_amount: 'outstanding_paid_amount',
  due_amount: 'outstanding_due_amount',
});

export const outstandingByPhone: SummedRows = activities(
  { receipts: 'outstanding_receipts', due_amount: 'outstanding_due_amount' },
  { byDoctor: false },
);

/** Its clinic and doctor are those of the appointment. */
export const appointmentPayments: SummedRows = activities(
  {
    ...same('receipts', 'payment_requests'),
    billed_amount: 'net_amount',
    ...same('requested_amount', 'paid_amount', 'due_amount'),
  },
  { byDoctor: false },
);

export const paymentRequests: SummedRows = activities({
  rows: 'payment_requests',
  net_amount: 'requested_amount',
});

export const consentForms: SummedRows = activities({ rows: 'consent_forms' });
export const reviewRequests: SummedRows = activities({ rows: 'review_requests' });

const byState = (columns: Columns): SummedRows => ({
  columns: Object.keys(columns),
  byDoctor: true,
  from: (byDoctor, keys, where, months) => {
    const table = byDoctor
      ? sql`summed_appointments`
      : sumsOf('summed_appointment_days', 'summed_appointment_months', months);
    const grouped = sql.raw([...keys, 'status'].join(', '));
    // Summed first, so that the states of a few rows are looked up.
    return sql`${select(keys, columns)} from (
      select ${grouped}, sum(appointments) as appointments, reporting.appointment_state(status) as state
      from ${table} where ${where} group by ${grouped}
    ) states`;
  },
});

export const appointments: SummedRows = byState({ rows: 'appointments', state: 'state' });

const inState = (condition: string) => `case when state ${condition} then appointments else 0 end`;

export const appointmentsDaily: SummedRows = byState({
  appointments: 'appointments',
  booked: inState(`= 'booked'`),
  ongoing: inState(`= 'ongoing'`),
  completed: inState(`like 'completed%'`),
  completed_without_prescription: inState(`= 'completed_without_prescription'`),
  cancelled: inState(`like 'cancelled%'`),
  cancelled_by_patient: inState(`= 'cancelled_by_patient'`),
  cancelled_by_doctor: inState(`= 'cancelled_by_doctor'`),
  cancelled_by_staff: inState(`= 'cancelled_by_staff'`),
  no_show: inState(`= 'no_show'`),
  aborted: inState(`= 'aborted'`),
  rescheduled: inState(`= 'rescheduled'`),
  other: inState(`= 'other'`),
});

const countedDeliveries = (columns: Columns): SummedRows => ({
  columns: Object.keys(columns),
  byDoctor: false,
  from: (_byDoctor, keys, where, months) =>
    sql`${select(keys, columns)}
      from ${sumsOf('counted_deliveries', 'counted_delivery_months', months)} where ${where}`,
});

export const deliveries: SummedRows = countedDeliveries({
  rows: 'received + reconciled',
  duplicates: 'duplicates',
});

export const deliveryHealth: SummedRows = countedDeliveries(
  same('received', 'applied', 'failed', 'waiting', 'quarantined', 'duplicates', 'reconciled'),
);
