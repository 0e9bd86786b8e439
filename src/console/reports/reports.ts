import type { AliasKind } from '../../store/aliases.ts';
import type { RangeName } from './ranges.ts';

/** A chart of a report: a series for each SQL expression, over groups of rows. */
export interface ReportChart {
  /** `day` in it is replaced where the chart is of months. */
  title: string;
  /** Bars, if there is nothing else. */
  kind?: 'line';
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

/** A view of the schema `reporting`, as the console shows it. Its filters follow from its columns. */
export interface Report {
  /** The view's name; the address of the page too. */
  view: string;
  /** It is a function of a moment, which returns rows of this view. */
  rowsOf?: string;
  title: string;
  about: string;
  /** No two rows are equal in it, so that pages do not overlap. */
  order: string;
  /** Whether the indexes below the view begin with the business, so that a query has to name one. */
  leadsWithBusiness?: boolean;
  /** The days that are shown if none are asked for, instead of the last 30. */
  range?: RangeName;
  /** Whether amounts are of versions or of deleted receipts too, so that their sum says nothing. */
  withoutTotals?: boolean;
  chart?: ReportChart;
}

const amountsPerDay: ReportChart = {
  title: 'Amounts per day, in rupees',
  kind: 'line',
  series: { net: 'sum(net_amount)', paid: 'sum(paid_amount)', due: 'sum(due_amount)' },
  amounts: true,
};

const topTwelve = (ids: 'clinic' | 'doctor'): ReportChart => ({
  title: `Top twelve ${ids}s by net amount, in rupees`,
  ids,
  by: `coalesce(${ids}_id, 'none')`,
  series: { net: 'sum(net_amount)', due: 'sum(due_amount)' },
  amounts: true,
  largest: 12,
});

export const reports: readonly Report[] = [
  {
    view: 'receipts_daily',
    title: 'Receipts per day',
    about: 'Counts, amounts, discounts and amounts due per clinic, doctor and day.',
    order: 'day desc, business_id, clinic_id, doctor_id',
    leadsWithBusiness: true,
    chart: amountsPerDay,
  },
  {
    view: 'outstanding_receipts',
    title: 'Outstanding receipts',
    about: 'Receipts with an amount due, the oldest first.',
    order: 'day, issued_at, business_id, receipt_id',
    range: 'all',
  },
  {
    view: 'outstanding_by_phone',
    title: 'Outstanding by phone',
    about: 'The amounts due of each phone number on receipts; without a number, of each patient.',
    order: 'due_amount desc, business_id, first_receipt_id',
  },
  {
    view: 'appointments_daily',
    title: 'Appointments per day',
    about:
      'Appointments booked per clinic, doctor and day: completed, cancelled, without a prescription, and the time from booking to completion.',
    order: 'day desc, business_id, clinic_id, doctor_id',
    leadsWithBusiness: true,
    chart: {
      title: 'Appointments per day by what became of them',
      stacked: true,
      series: {
        completed: 'sum(completed)',
        cancelled: 'sum(cancelled)',
        booked: 'sum(booked)',
        ongoing: 'sum(ongoing)',
        other: 'sum(other)',
      },
    },
  },
  {
    view: 'appointment_payments',
    title: 'Payments of appointments',
    about: 'What was billed, requested and paid per appointment and day.',
    order: 'day desc, business_id, appointment_id',
    leadsWithBusiness: true,
    chart: {
      title: 'Amounts per day, in rupees',
      kind: 'line',
      series: {
        billed: 'sum(billed_amount)',
        requested: 'sum(requested_amount)',
        paid: 'sum(paid_amount)',
        due: 'sum(due_amount)',
      },
      amounts: true,
    },
  },
  {
    view: 'open_admissions',
    title: 'Open admissions',
    about:
      'Admissions under way, with their open clearances, and the amounts estimated, billed and paid; their day is that of the admission.',
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
    view: 'doctors_daily',
    title: 'Doctors',
    about: 'Receipts, consent forms and review requests per doctor and day.',
    order: 'day desc, business_id, doctor_id',
    chart: topTwelve('doctor'),
  },
  {
    view: 'clinics_daily',
    title: 'Clinics',
    about: 'Receipts, consent forms and review requests per clinic and day.',
    order: 'day desc, business_id, clinic_id',
    chart: topTwelve('clinic'),
  },
  {
    view: 'receipts',
    title: 'Receipts',
    about: 'The newest version of each receipt, without deleted receipts.',
    order: 'issued_at desc, business_id, receipt_id',
    leadsWithBusiness: true,
    chart: amountsPerDay,
  },
  {
    view: 'deleted_receipts',
    title: 'Deleted receipts',
    about: 'The last version of each deleted receipt.',
    order: 'issued_at desc, business_id, receipt_id',
    leadsWithBusiness: true,
    chart: { title: 'Deleted receipts by day of the receipt' },
  },
  {
    view: 'all_receipts',
    title: 'All receipts',
    about: 'The newest version of each receipt, deleted receipts included.',
    order: 'issued_at desc, business_id, receipt_id',
    leadsWithBusiness: true,
    withoutTotals: true,
  },
  {
    view: 'receipts_as_of',
    rowsOf: 'all_receipts',
    title: 'Receipts as of a date',
    about: 'What the service knew of each receipt at a moment in the past, deleted receipts included.',
    order: 'issued_at desc, business_id, receipt_id',
    leadsWithBusiness: true,
    withoutTotals: true,
  },
  {
    view: 'receipt_history',
    title: 'Receipt history',
    about: 'Every version of every receipt; its day is the day it was received.',
    order: 'received_at desc, business_id, receipt_id, version desc',
    leadsWithBusiness: true,
    withoutTotals: true,
  },
  {
    view: 'consent_forms',
    title: 'Consent forms',
    about: 'The newest version of each consent form; its day is that of its last event.',
    order: 'event_time desc, business_id, form_id',
    chart: { title: 'Consent forms per day' },
  },
  {
    view: 'review_requests',
    title: 'Review requests',
    about: 'Requests to patients for a review.',
    order: 'requested_at desc, business_id, delivery_id',
    chart: { title: 'Review requests per day' },
  },
  {
    view: 'appointments',
    title: 'Appointments',
    about: 'The newest version of each appointment; its day is the day it was booked.',
    order: 'booked_at desc, business_id, appointment_id',
    leadsWithBusiness: true,
    chart: { title: 'Appointments per status', by: 'state' },
  },
  {
    view: 'appointment_history',
    title: 'Appointment history',
    about: 'Every version of every appointment; its day is the day it was received.',
    order: 'received_at desc, business_id, appointment_id, version desc',
    leadsWithBusiness: true,
    withoutTotals: true,
  },
  {
    view: 'prescriptions',
    title: 'Prescriptions',
    about: 'The newest version of each prescription; its day is that of its last event.',
    order: 'event_time desc, business_id, prescription_id',
    chart: { title: 'Prescriptions per day' },
  },
  {
    view: 'payment_requests',
    title: 'Payment requests',
    about: 'Requests to patients to pay.',
    order: 'requested_at desc, business_id, delivery_id',
    chart: {
      title: 'Amount requested per day, in rupees',
      series: { requested: 'sum(net_amount)' },
      amounts: true,
    },
  },
  {
    view: 'practice_changes',
    title: 'Practice changes',
    about: 'Doctors who started or stopped practising, or became available.',
    order: 'event_time desc, business_id, delivery_id',
  },
  {
    view: 'notices',
    title: 'Notices',
    about: 'Reminders and other messages to patients, and doctors who joined a consultation.',
    order: 'event_time desc, business_id, delivery_id',
    chart: { title: 'Notices by event', by: 'event' },
  },
  {
    view: 'admissions',
    title: 'Admissions',
    about: 'The newest version of each admission, ended ones included.',
    order: 'admitted_at desc, business_id, admission_id',
    leadsWithBusiness: true,
    chart: { title: 'Admissions per day' },
  },
  {
    view: 'admission_events',
    title: 'Events of admissions',
    about: 'The newest version of each event of an admission.',
    order: 'happened_at desc, business_id, event_id',
  },
  {
    view: 'admission_clearances',
    title: 'Clearances of admissions',
    about: 'The newest version of each clearance of an admission, and whether it is open.',
    order: 'event_time desc, business_id, clearance_id',
    chart: {
      title: 'Clearances by kind',
      stacked: true,
      by: `coalesce(type, 'none')`,
      series: { given: 'count(*) filter (where not is_open)', open: 'count(*) filter (where is_open)' },
    },
  },
  {
    view: 'admission_estimates',
    title: 'Estimates of admissions',
    about: 'The newest version of each estimate of what an admission will cost.',
    order: 'event_time desc, business_id, estimate_id',
  },
  {
    view: 'delivery_health',
    title: 'Delivery health',
    about: 'Callbacks per hour, their status, and their processing times.',
    order: 'hour desc, business_id, family',
    chart: {
      title: 'Callbacks per day by status',
      stacked: true,
      series: {
        applied: 'sum(applied)',
        waiting: 'sum(waiting)',
        failed: 'sum(failed)',
        quarantined: 'sum(quarantined)',
      },
    },
  },
  {
    view: 'deliveries',
    title: 'Deliveries',
    about: 'When each callback was received, and its status.',
    order: 'received_at desc, delivery_id',
    chart: { title: 'Callbacks per day' },
  },
  {
    view: 'silence',
    title: 'Silence',
    about: 'How long each business has sent nothing, and whether that is unusual.',
    order: 'out_of_the_ordinary desc nulls last, present_gap desc, business_id, family',
  },
  {
    view: 'quarantine',
    title: 'Quarantine',
    about: 'Rejected callbacks, and why they were rejected.',
    order: 'received_at desc, quarantine_id',
    chart: { title: 'Rejected bodies per day' },
  },
  {
    view: 'schema_drift',
    title: 'Schema drift',
    about: 'Differences between callbacks and the documented interface.',
    order: 'last_seen desc, event, field, kind, value',
  },
  {
    view: 'other_events',
    title: 'Unknown events',
    about: 'Events that no family lists yet, with their data.',
    order: 'event_time desc, delivery_id',
    chart: { title: 'Unknown events by event', by: 'event' },
  },
];

/** Pages for what is asked every day and every month. */
export const shortcuts = [
  { title: 'Takings of yesterday, per clinic and doctor', query: 'receipts_daily?range=yesterday' },
  { title: 'Receipts of last month', query: 'receipts?range=last_month' },
  { title: 'Dues older than 90 days', query: 'outstanding_receipts?age=over_90' },
  { title: 'A receipt as of a date', query: 'receipts_as_of' },
] as const;
