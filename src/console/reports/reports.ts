/** A chart of a report: a series for each SQL expression, over groups of rows. */
export interface ReportChart {
  title: string;
  kind: 'bar' | 'line';
  stacked?: boolean;
  /** The SQL expression that rows are grouped by. */
  by: string;
  series: Record<string, string>;
  amounts?: boolean;
  /** Only the largest groups, by the first series. */
  largest?: number;
}

/** A view of the schema `reporting`, as the console shows it. */
export interface Report {
  /** The view's name; the address of the page too. */
  view: string;
  title: string;
  about: string;
  /** Whether its rows have a `day`, a `business_id`, a `clinic_id`. */
  dated: boolean;
  business: boolean;
  clinic: boolean;
  order: string;
  chart?: ReportChart;
}

const perDay = (title: string): ReportChart => ({
  title,
  kind: 'bar',
  by: 'day::text',
  series: { count: 'count(*)' },
});

const amountsPerDay: ReportChart = {
  title: 'Amounts per day, in rupees',
  kind: 'line',
  by: 'day::text',
  series: { net: 'sum(net_amount)', paid: 'sum(paid_amount)', due: 'sum(due_amount)' },
  amounts: true,
};

const perBusiness = { dated: true, business: true, clinic: false };
const perClinic = { ...perBusiness, clinic: true };

export const reports: readonly Report[] = [
  {
    view: 'receipts_daily',
    title: 'Receipts per day',
    about: 'Counts, amounts, discounts and amounts due per clinic, doctor and day.',
    ...perClinic,
    order: 'day desc, business_id, clinic_id, doctor_id',
    chart: amountsPerDay,
  },
  {
    view: 'outstanding_receipts',
    title: 'Outstanding receipts',
    about: 'Receipts with an amount due.',
    ...perClinic,
    order: 'due_amount desc, business_id, receipt_id',
    chart: {
      title: 'Amount due by day of the receipt, in rupees',
      kind: 'bar',
      by: 'day::text',
      series: { due: 'sum(due_amount)' },
      amounts: true,
    },
  },
  {
    view: 'doctors_daily',
    title: 'Doctors',
    about: 'Receipts, consent forms and review requests per doctor and day.',
    ...perBusiness,
    order: 'day desc, business_id, doctor_id',
    chart: {
      title: 'Top twelve doctors by net amount, in rupees',
      kind: 'bar',
      by: "coalesce(doctor_id, 'none')",
      series: { net: 'sum(net_amount)', due: 'sum(due_amount)' },
      amounts: true,
      largest: 12,
    },
  },
  {
    view: 'clinics_daily',
    title: 'Clinics',
    about: 'Receipts, consent forms and review requests per clinic and day.',
    ...perClinic,
    order: 'day desc, business_id, clinic_id',
    chart: {
      title: 'Top twelve clinics by net amount, in rupees',
      kind: 'bar',
      by: "coalesce(clinic_id, 'none')",
      series: { net: 'sum(net_amount)', due: 'sum(due_amount)' },
      amounts: true,
      largest: 12,
    },
  },
  {
    view: 'receipts',
    title: 'Receipts',
    about: 'The newest version of each receipt, without deleted receipts.',
    ...perClinic,
    order: 'issued_at desc, business_id, receipt_id',
    chart: amountsPerDay,
  },
  {
    view: 'deleted_receipts',
    title: 'Deleted receipts',
    about: 'The last version of each deleted receipt.',
    ...perClinic,
    order: 'issued_at desc, business_id, receipt_id',
    chart: perDay('Deleted receipts by day of the receipt'),
  },
  {
    view: 'all_receipts',
    title: 'All receipts',
    about: 'The newest version of each receipt, deleted receipts included.',
    ...perClinic,
    order: 'issued_at desc, business_id, receipt_id',
  },
  {
    view: 'receipt_history',
    title: 'Receipt history',
    about: 'Every version of every receipt; its day is the day it was received.',
    ...perClinic,
    order: 'received_at desc, business_id, receipt_id, version desc',
  },
  {
    view: 'consent_forms',
    title: 'Consent forms',
    about: 'The newest version of each consent form; its day is that of its last event.',
    ...perBusiness,
    order: 'event_time desc, business_id, form_id',
    chart: perDay('Consent forms per day'),
  },
  {
    view: 'review_requests',
    title: 'Review requests',
    about: 'Requests to patients for a review.',
    ...perClinic,
    order: 'requested_at desc, business_id, delivery_id',
    chart: perDay('Review requests per day'),
  },
  {
    view: 'delivery_health',
    title: 'Delivery health',
    about: 'Callbacks per hour, their status, and their processing times.',
    ...perBusiness,
    order: 'hour desc, business_id, family',
    chart: {
      title: 'Callbacks per day by status',
      kind: 'bar',
      stacked: true,
      by: 'day::text',
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
    ...perBusiness,
    order: 'received_at desc, delivery_id',
    chart: perDay('Callbacks per day'),
  },
  {
    view: 'silence',
    title: 'Silence',
    about: 'How long each business has sent nothing, and whether that is unusual.',
    dated: false,
    business: true,
    clinic: false,
    order: 'out_of_the_ordinary desc nulls last, present_gap desc',
  },
  {
    view: 'quarantine',
    title: 'Quarantine',
    about: 'Rejected callbacks, and why they were rejected.',
    ...perBusiness,
    order: 'received_at desc, quarantine_id',
    chart: perDay('Rejected bodies per day'),
  },
  {
    view: 'schema_drift',
    title: 'Schema drift',
    about: 'Differences between callbacks and the documented interface.',
    dated: false,
    business: false,
    clinic: false,
    order: 'last_seen desc, event, field, kind, value',
  },
];
