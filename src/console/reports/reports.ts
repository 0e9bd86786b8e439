/** A chart of a report: a series for each expression, over what the rows are grouped by. */
export interface ReportChart {
  title: string;
  kind: 'bar' | 'line';
  stacked?: boolean;
  /** The SQL that rows are grouped by. */
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
    about: 'Counts, amounts, discounts and dues of each clinic and doctor.',
    ...perClinic,
    order: 'day desc, business_id, clinic_id, doctor_id',
    chart: amountsPerDay,
  },
  {
    view: 'outstanding_receipts',
    title: 'Outstanding receipts',
    about: 'Receipts with something still to pay.',
    ...perClinic,
    order: 'due_amount desc, business_id, receipt_id',
    chart: {
      title: 'Still due, by the day of the receipt, in rupees',
      kind: 'bar',
      by: 'day::text',
      series: { due: 'sum(due_amount)' },
      amounts: true,
    },
  },
  {
    view: 'doctors_daily',
    title: 'Doctors',
    about: 'Receipts, consent forms and review requests of each doctor and day.',
    ...perBusiness,
    order: 'day desc, business_id, doctor_id',
    chart: {
      title: 'The twelve doctors with the largest net amount, in rupees',
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
    about: 'Receipts, consent forms and review requests of each clinic and day.',
    ...perClinic,
    order: 'day desc, business_id, clinic_id',
    chart: {
      title: 'The twelve clinics with the largest net amount, in rupees',
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
    about: 'Each receipt as its newest version says, without the deleted ones.',
    ...perClinic,
    order: 'issued_at desc, business_id, receipt_id',
    chart: amountsPerDay,
  },
  {
    view: 'deleted_receipts',
    title: 'Deleted receipts',
    about: 'Each as it last was.',
    ...perClinic,
    order: 'issued_at desc, business_id, receipt_id',
    chart: perDay('Deleted receipts by the day of the receipt'),
  },
  {
    view: 'all_receipts',
    title: 'All receipts',
    about: 'Deleted ones included.',
    ...perClinic,
    order: 'issued_at desc, business_id, receipt_id',
  },
  {
    view: 'receipt_history',
    title: 'Receipt history',
    about: 'Every version of every receipt; the day is that of its arrival.',
    ...perClinic,
    order: 'received_at desc, business_id, receipt_id, version desc',
  },
  {
    view: 'consent_forms',
    title: 'Consent forms',
    about: 'Each as its newest version says; the day is that of its last event.',
    ...perBusiness,
    order: 'event_time desc, business_id, form_id',
    chart: perDay('Consent forms per day'),
  },
  {
    view: 'review_requests',
    title: 'Review requests',
    about: 'Each request to ask a patient for a review.',
    ...perClinic,
    order: 'requested_at desc, business_id, delivery_id',
    chart: perDay('Review requests per day'),
  },
  {
    view: 'delivery_health',
    title: 'Delivery health',
    about: 'What came in each hour, what became of it, and how long that took.',
    ...perBusiness,
    order: 'hour desc, business_id, family',
    chart: {
      title: 'Callbacks per day and what became of them',
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
    about: 'When each callback came and what became of it.',
    ...perBusiness,
    order: 'received_at desc, delivery_id',
    chart: perDay('Callbacks per day'),
  },
  {
    view: 'silence',
    title: 'Silence',
    about: 'How long each business has sent nothing, and whether that is out of the ordinary.',
    dated: false,
    business: true,
    clinic: false,
    order: 'out_of_the_ordinary desc nulls last, present_gap desc',
  },
  {
    view: 'quarantine',
    title: 'Quarantine',
    about: 'Callbacks that did not fit, and why.',
    ...perBusiness,
    order: 'received_at desc, quarantine_id',
    chart: perDay('Bodies put into quarantine per day'),
  },
  {
    view: 'schema_drift',
    title: 'Schema drift',
    about: 'Where callbacks differ from what the interface documents.',
    dated: false,
    business: false,
    clinic: false,
    order: 'last_seen desc, event, field, kind, value',
  },
];
