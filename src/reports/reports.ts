import { titled } from '../common/words.ts';
import type { families } from '../families/index.ts';
import type { AliasKind } from '../store/aliases.ts';
import type { RangeName } from './ranges.ts';
import * as summed from './summed-rows.ts';

/** A chart of a report: a series for each SQL expression, over groups of rows. Amounts per day are lines. */
export interface ReportChart {
  /** `day` in it is replaced where the chart is of months. Without it, the report and what its rows are grouped by. */
  title?: string;
  stacked?: boolean;
  /** The SQL expression that rows are grouped by; without it, the day, or the month in a long range. */
  by?: string;
  /** Without them, the number of rows. */
  series?: Record<string, string>;
  amounts?: boolean;
  /** Only the largest groups, by the first series. */
  largest?: number;
  /** What the groups are the ids of. */
  ids?: AliasKind;
}

/**
 * A view of the schema `reporting`, as the console shows it. Its filters follow from its columns, and what it says of
 * itself is the view's comment.
 */
export interface Report {
  /** The view's name; the address of the page too. */
  view: string;
  /** Where it is not the view's name. */
  title?: string;
  /** The families of the platform's records that it is made of; none: it is of what the receiver itself records. */
  families: readonly (typeof families)[number]['name'][];
  /** It is a function of a moment, which returns the rows that this view had then. */
  rowsOf?: string;
  /** No two rows are equal in it, so that pages do not overlap. */
  order: string;
  /** Whether `order` begins with a time, newest first, that the column `day` is the day of. */
  newestDayFirst?: boolean;
  /** The sums of its rows by day, where they are kept. */
  summed?: summed.SummedRows;
  /** How many rows are counted, summed and sorted, where each is computed from others. Default: 100,000. */
  counted?: number;
  /** Where there are more receipts than `over`: a view with the same columns, and its order, which is that of an index. */
  many?: { over: number; view: string; order: string };
  /** Whether the indexes below the view begin with the business, so that a query has to name one. */
  leadsWithBusiness?: boolean;
  /** The days that are shown if none are asked for, instead of the last 30. */
  range?: RangeName;
  /** Whether amounts are of versions or of deleted receipts too, so that their sum says nothing. */
  withoutTotals?: boolean;
  chart?: ReportChart;
}

/** The view's name in words: Receipts per day. */
export const titleOf = ({
  view,
  title = view.replace(/_daily$/, '_per_day').replace(/_monthly$/, '_per_month'),
}: Report) => titled(title);

export const chartTitleOf = (report: Report, { title, by }: ReportChart) =>
  title ?? `${titleOf(report)} ${by ? `by ${by}` : 'per day'}`;

const counts = (...names: string[]) => Object.fromEntries(names.map((name) => [name, `sum(${name})`]));

const amounts = (...names: string[]) => ({
  title: 'Amounts per day',
  series: Object.fromEntries(names.map((name) => [name, `sum(${name}_amount)`])),
  amounts: true,
});

const topTwelve = (ids: 'clinic' | 'doctor'): ReportChart => ({
  ...amounts('net', 'due'),
  title: `Top twelve ${ids}s by net amount`,
  ids,
  by: `coalesce(${ids}_id, 'none')`,
  largest: 12,
});

const newestFirst = (time: string, key: string) => ({
  order: `${time} desc, business_id, ${key}`,
  newestDayFirst: true,
});
const byBusiness = (time: string, key: string) => ({ ...newestFirst(time, key), leadsWithBusiness: true });
const daily = byBusiness('day', 'clinic_id, doctor_id');
const byReceipt = byBusiness('issued_at', 'receipt_id');
const activities = ['receipt', 'consent_form', 'review_request', 'payment_request'] as const;

const versions = (key: string) => byBusiness('received_at', `${key}, version desc`);

const byStatus = {
  summed: summed.deliveryHealth,
  chart: {
    title: 'Callbacks per day by status',
    stacked: true,
    series: counts('applied', 'waiting', 'failed', 'quarantined'),
  },
};

export const reports: readonly Report[] = [
  {
    view: 'receipts_daily',
    families: ['receipt'],
    ...daily,
    summed: summed.receiptsDaily,
    chart: amounts('net', 'paid', 'due'),
  },
  {
    view: 'outstanding_receipts',
    families: ['receipt'],
    order: 'day, issued_at, business_id, receipt_id',
    range: 'all',
    summed: summed.outstandingReceipts,
  },
  {
    view: 'outstanding_by_phone',
    families: ['receipt'],
    order: 'due_amount desc, business_id, first_receipt_id',
    // Each receipt is read from the table.
    many: { over: 20_000, view: 'dues_by_phone', order: 'business_id, phone, patient' },
    summed: summed.outstandingByPhone,
  },
  {
    view: 'appointments_daily',
    families: ['appointment'],
    ...daily,
    summed: summed.appointmentsDaily,
    chart: {
      title: 'Appointments per day by what became of them',
      stacked: true,
      series: counts(
        'completed',
        'cancelled',
        'no_show',
        'rescheduled',
        'aborted',
        'booked',
        'ongoing',
        'other',
      ),
    },
  },
  {
    view: 'visits',
    families: ['appointment', 'receipt'],
    ...byBusiness('first_booked_at', 'visit_id'),
    counted: 2_000,
    chart: { title: 'Visits per state', by: 'state' },
  },
  {
    view: 'appointment_payments',
    families: ['appointment', 'receipt', 'payment_request'],
    ...byBusiness('day', 'appointment_id'),
    summed: summed.appointmentPayments,
    chart: amounts('billed', 'requested', 'paid', 'due'),
  },
  {
    view: 'open_admissions',
    families: ['admission', 'admission_event', 'admission_clearance', 'admission_estimate'],
    order: 'admitted_at, business_id, admission_id',
    leadsWithBusiness: true,
    range: 'last_365_days',
    chart: {
      title: 'Open admissions by days since the admission',
      by: `case when days_since_admission <= 1 then '0 to 1' when days_since_admission <= 3 then '2 to 3'
             when days_since_admission <= 7 then '4 to 7' else 'more than 7' end`,
    },
  },
  {
    view: 'businesses_daily',
    families: activities,
    order: 'day desc, business_id',
    newestDayFirst: true,
    summed: summed.businessesDaily,
    chart: amounts('net', 'paid', 'due'),
  },
  {
    view: 'activities_monthly',
    families: activities,
    order: 'month desc, business_id, clinic_id, doctor_id',
    range: 'all',
    summed: summed.businessesDaily,
    chart: amounts('net', 'paid', 'due'),
  },
  {
    view: 'doctors_daily',
    families: activities,
    ...newestFirst('day', 'doctor_id'),
    summed: summed.activitiesDaily,
    chart: topTwelve('doctor'),
  },
  {
    view: 'clinics_daily',
    families: activities,
    ...newestFirst('day', 'clinic_id'),
    summed: summed.activitiesDaily,
    chart: topTwelve('clinic'),
  },
  {
    view: 'receipts',
    families: ['receipt'],
    ...byReceipt,
    summed: summed.receipts,
    chart: amounts('net', 'paid', 'due'),
  },
  {
    view: 'deleted_receipts',
    families: ['receipt'],
    ...byReceipt,
    summed: summed.deletedReceipts,
    chart: { title: 'Deleted receipts by day of the receipt' },
  },
  {
    view: 'all_receipts',
    families: ['receipt'],
    ...byReceipt,
    summed: summed.allReceipts,
    withoutTotals: true,
  },
  {
    view: 'receipts_as_of',
    families: ['receipt'],
    title: 'Receipts as of a date',
    rowsOf: 'all_receipts',
    ...byReceipt,
    summed: summed.allReceipts,
    withoutTotals: true,
  },
  { view: 'receipt_history', families: ['receipt'], ...versions('receipt_id'), withoutTotals: true },
  {
    view: 'consent_forms',
    families: ['consent_form'],
    ...newestFirst('event_time', 'form_id'),
    summed: summed.consentForms,
    chart: {},
  },
  {
    view: 'review_requests',
    families: ['review_request'],
    ...newestFirst('requested_at', 'delivery_id'),
    summed: summed.reviewRequests,
    chart: {},
  },
  {
    view: 'appointments',
    families: ['appointment'],
    ...byBusiness('booked_at', 'appointment_id'),
    summed: summed.appointments,
    chart: { title: 'Appointments per status', by: 'state' },
  },
  {
    view: 'appointment_history',
    families: ['appointment'],
    ...versions('appointment_id'),
    withoutTotals: true,
  },
  {
    view: 'prescriptions',
    families: ['prescription'],
    ...newestFirst('event_time', 'prescription_id'),
    chart: {},
  },
  {
    view: 'payment_requests',
    families: ['payment_request'],
    ...newestFirst('requested_at', 'delivery_id'),
    summed: summed.paymentRequests,
    chart: { ...amounts('net'), title: 'Amount requested per day' },
  },
  {
    view: 'payments',
    families: ['receipt'],
    ...byBusiness('happened_at', 'payment_id'),
    chart: { by: 'state' },
  },
  {
    view: 'payments_daily',
    families: ['receipt'],
    ...newestFirst('day', 'gateway, mode'),
    chart: {
      title: 'Successful payments per day',
      series: { amount: 'sum(successful_amount)' },
      amounts: true,
    },
  },
  { view: 'practice_changes', families: ['practice_change'], ...newestFirst('event_time', 'delivery_id') },
  {
    view: 'notices',
    families: ['notice'],
    ...newestFirst('event_time', 'delivery_id'),
    chart: { by: 'event' },
  },
  { view: 'admissions', families: ['admission'], ...byBusiness('admitted_at', 'admission_id'), chart: {} },
  {
    view: 'admission_events',
    families: ['admission_event'],
    order: 'happened_at desc, business_id, event_id',
  },
  {
    view: 'admission_clearances',
    families: ['admission_clearance'],
    ...newestFirst('event_time', 'clearance_id'),
    chart: {
      title: 'Clearances by kind',
      stacked: true,
      by: `coalesce(type, 'none')`,
      series: { given: 'count(*) filter (where not is_open)', open: 'count(*) filter (where is_open)' },
    },
  },
  {
    view: 'admission_estimates',
    families: ['admission_estimate'],
    ...newestFirst('event_time', 'estimate_id'),
  },
  {
    view: 'health_accounts',
    families: ['health_account'],
    ...newestFirst('event_time', 'delivery_id'),
    chart: {},
  },
  {
    view: 'care_contexts',
    families: ['care_context'],
    ...newestFirst('event_time', 'care_context_id'),
    chart: { by: 'status' },
  },
  {
    view: 'bookings',
    families: ['booking'],
    ...newestFirst('event_time', 'booking_id'),
    chart: { by: 'state' },
  },
  { view: 'deliveries_daily', families: [], ...newestFirst('day', 'family'), ...byStatus },
  { view: 'delivery_health', families: [], ...newestFirst('hour', 'family'), ...byStatus },
  {
    view: 'deliveries',
    families: [],
    order: 'received_at desc, delivery_id',
    newestDayFirst: true,
    summed: summed.deliveries,
    chart: { title: 'Callbacks per day' },
  },
  { view: 'completeness', families: [], ...newestFirst('day', 'family'), counted: 2_000 },
  {
    view: 'suspected_receipts',
    families: ['receipt'],
    ...newestFirst('named_at', 'delivery_id'),
    counted: 2_000,
  },
  {
    view: 'silence',
    families: [],
    order: 'out_of_the_ordinary desc nulls last, present_gap desc, business_id, family',
  },
  {
    view: 'outages',
    families: [],
    title: 'Outages of the receiver',
    order: 'from_at desc',
    range: 'last_365_days',
  },
  {
    view: 'quarantine',
    families: [],
    order: 'received_at desc, quarantine_id',
    newestDayFirst: true,
    chart: { title: 'Rejected bodies per day' },
  },
  { view: 'schema_drift', families: [], order: 'last_seen desc, event, field, kind, value' },
  {
    view: 'other_events',
    families: [],
    title: 'Unknown events',
    order: 'event_time desc, delivery_id',
    newestDayFirst: true,
    chart: { by: 'event' },
  },
];
