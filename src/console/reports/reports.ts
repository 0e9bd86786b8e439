/** A chart of a report: a series for each SQL expression, over groups of rows. */
export interface ReportChart {
  title: string;
  /** Bars, if there is nothing else. */
  kind?: 'line';
  stacked?: boolean;
  /** The SQL expression that rows are grouped by; without it, the day. */
  by?: string;
  /** Without them, the number of rows. */
  series?: Record<string, string>;
  amounts?: boolean;
  /** Only the largest groups, by the first series. */
  largest?: number;
}

/** A view of the schema `reporting`, as the console shows it. Its filters follow from its columns. */
export interface Report {
  /** The view's name; the address of the page too. */
  view: string;
  title: string;
  about: string;
  order: string;
  /** Whether the indexes below the view begin with the business, so that a query has to name one. */
  leadsWithBusiness?: boolean;
  chart?: ReportChart;
}

const amountsPerDay: ReportChart = {
  title: 'Amounts per day, in rupees',
  kind: 'line',
  series: { net: 'sum(net_amount)', paid: 'sum(paid_amount)', due: 'sum(due_amount)' },
  amounts: true,
};

const topTwelve = (things: string, column: string): ReportChart => ({
  title: `Top twelve ${things} by net amount, in rupees`,
  by: `coalesce(${column}, 'none')`,
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
    about: 'Receipts with an amount due.',
    order: 'due_amount desc, business_id, receipt_id',
    leadsWithBusiness: true,
    chart: {
      title: 'Amount due by day of the receipt, in rupees',
      series: { due: 'sum(due_amount)' },
      amounts: true,
    },
  },
  {
    view: 'doctors_daily',
    title: 'Doctors',
    about: 'Receipts, consent forms and review requests per doctor and day.',
    order: 'day desc, business_id, doctor_id',
    chart: topTwelve('doctors', 'doctor_id'),
  },
  {
    view: 'clinics_daily',
    title: 'Clinics',
    about: 'Receipts, consent forms and review requests per clinic and day.',
    order: 'day desc, business_id, clinic_id',
    chart: topTwelve('clinics', 'clinic_id'),
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
  },
  {
    view: 'receipt_history',
    title: 'Receipt history',
    about: 'Every version of every receipt; its day is the day it was received.',
    order: 'received_at desc, business_id, receipt_id, version desc',
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
    order: 'out_of_the_ordinary desc nulls last, present_gap desc',
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
];
