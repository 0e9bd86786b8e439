import { families } from '../../callbacks/families/index.ts';
import { titled } from '../../common/words.ts';
import type { RangeName } from './ranges.ts';

type FamilyName = (typeof families)[number]['name'];

/** A view of the schema `reporting`. Its filters follow from its columns, and its description is the view's comment. */
export interface Report extends Order, Options {
  view: string;
  line: string;
  families: readonly FamilyName[];
}

interface Order {
  /** No two rows are equal in it, so that pages do not overlap. */
  order: string;
  /** `order` begins with a time, newest first, that the column `day` is the day of. */
  newestDayFirst?: boolean;
  /** The indexes below the view begin with the business, so that a query has to name one. */
  leadsWithBusiness?: boolean;
}

interface Options {
  title?: string;
  /** The families that it is made of, where it is not the one whose table has the view's name; none: records of the receiver itself. */
  families?: readonly FamilyName[];
  /** It is a function of a moment, which returns the rows that this view had then. */
  rowsOf?: string;
  /** The days that are shown if none are asked for, instead of the last 30. */
  range?: RangeName;
  hasDaysToCome?: boolean;
  /** Columns that are shown among all of them only, besides those of every report. */
  details?: readonly string[];
  /** Amounts are of versions, so that their sum says nothing. */
  withoutTotals?: boolean;
  /** Totals add the rows of a condition; `others` names the rest. */
  summed?: { where: string; others: string };
}

const reportsOf = (entries: Record<string, [line: string, order: Order, options?: Options]>): Report[] =>
  Object.entries(entries).map(([view, [line, order, options]]) => {
    const own = families.flatMap(({ name, table }) => (table === view ? [name] : []));
    return { view, line, ...order, families: own, ...options };
  });

const by = (order: string): Order => ({ order });
const byTime = (order: string): Order => ({ order, newestDayFirst: true });
const newest = (time: string, key: string) => byTime(`${time} desc, business_id, ${key}`);
const newestIn = (time: string, key: string): Order => ({ ...newest(time, key), leadsWithBusiness: true });
const daily = newestIn('day', 'clinic_id, doctor_id');
const byReceipt = newestIn('issued_at', 'receipt_id');

const receipt: Options = { families: ['receipt'] };
const receiver: Options = { families: [] };
const activities: Options = { families: ['receipt', 'consent_form', 'review_request', 'payment_request'] };
const gross: Options = { families: ['receipt'], details: ['gross_amount'] };
const withoutFailed: Options = { summed: { where: 'not reporting.is_failed(status)', others: 'failed' } };
const withoutDeleted: Options = {
  summed: { where: 'deleted_at is null and not reporting.is_failed(status)', others: 'deleted or failed' },
};
const stay: Options = {
  families: ['admission', 'admission_event', 'admission_clearance', 'admission_estimate'],
};

const money = reportsOf({
  receipts_daily: [
    'What was billed, paid and is still due, day by day, of each doctor and clinic.',
    daily,
    receipt,
  ],
  receipts: ['Every receipt, the newest first.', byReceipt, { ...gross, ...withoutFailed }],
  payments: [
    'What came in or went back, on the day on which it did.',
    newest('paid_at', 'receipt_id, delivery_id'),
    receipt,
  ],
  outstanding_receipts: [
    'Receipts that are not fully paid, the oldest first, by age.',
    by('day, issued_at, business_id, receipt_id'),
    { ...receipt, details: ['issued_at'], range: 'all' },
  ],
  outstanding_by_phone: [
    'Who owes how much: one line for a phone number.',
    by('due_amount desc, business_id, first_receipt_id'),
    receipt,
  ],
  duplicate_receipts: [
    'Receipts of the same patient, amount and day: one of them may be too many.',
    newest('day', 'first_receipt_id, copy_number'),
    { ...receipt, details: ['issued_at', 'first_receipt_id'] },
  ],
  doctors_daily: ['What each doctor billed, and what is due.', newest('day', 'doctor_id'), activities],
  clinics_daily: ['What each clinic billed, and what is due.', newest('day', 'clinic_id'), activities],
  payment_requests: [
    'Payments that patients were asked for, with their links.',
    newest('requested_at', 'delivery_id'),
  ],
});

const appointments = reportsOf({
  appointments_daily: [
    'How many were booked, completed, cancelled or missed, day by day.',
    daily,
    {
      families: ['appointment'],
    },
  ],
  schedule: [
    'Who comes when, today and on the days to come.',
    by('starts_at, business_id, appointment_id'),
    { families: ['appointment'], details: ['booked_at'], range: 'next_7_days', hasDaysToCome: true },
  ],
  appointments: ['Every appointment and what became of it.', newestIn('booked_at', 'appointment_id')],
  bookings: ['Requests for an appointment, and what became of them.', newest('event_time', 'booking_id')],
  notices: [
    'Reminders, links and follow-ups that were sent to patients and doctors.',
    newest('event_time', 'delivery_id'),
  ],
});

const admissions = reportsOf({
  open_admissions: [
    'Who is admitted now, since when, and what is due.',
    { order: 'admitted_at, business_id, admission_id', leadsWithBusiness: true },
    { ...stay, details: ['open_clearance_types', 'status', 'facility_id', 'stage'], range: 'all' },
  ],
  admissions: [
    'Every admission, the newest first.',
    newestIn('admitted_at', 'admission_id'),
    {
      details: ['has_ended'],
    },
  ],
  admission_clearances: [
    'What is cleared before a discharge, and what is still open.',
    newest('event_time', 'clearance_id'),
  ],
  admission_estimates: ['What a stay was estimated to cost.', newest('event_time', 'estimate_id')],
  admission_events: ['What happened during each stay.', by('happened_at desc, business_id, event_id')],
});

const certificates = reportsOf({
  consent_forms: ['PDFs of consent forms and of medical certificates.', newest('event_time', 'form_id')],
  review_requests: ['Patients who were asked for a review.', newest('requested_at', 'delivery_id')],
  prescriptions: ['Prescriptions, with their documents.', newest('event_time', 'prescription_id')],
  health_accounts: ['Patients whose health account was linked.', newest('event_time', 'delivery_id')],
  care_contexts: ['Visits that were linked to a health account.', newest('event_time', 'care_context_id')],
});

const accountant = reportsOf({
  businesses_daily: [
    'Totals of each day for the whole business.',
    byTime('day desc, business_id'),
    { ...activities, details: ['consent_forms', 'review_requests'] },
  ],
  deleted_receipts: [
    'Receipts that were deleted, with their amounts.',
    byReceipt,
    { ...gross, ...withoutFailed },
  ],
  receipts_as_of: [
    'All receipts as they were at a date and time, for a closed month.',
    byReceipt,
    {
      ...gross,
      ...withoutDeleted,
      title: 'Receipts as of a date',
      rowsOf: 'all_receipts',
    },
  ],
  receipt_history: [
    'Each change of a receipt: amounts before and after.',
    newestIn('received_at', 'receipt_id, version desc'),
    { ...receipt, details: ['issued_at', 'gross_amount', 'status'], withoutTotals: true },
  ],
  all_receipts: ['All receipts, the deleted ones too.', byReceipt, { ...gross, ...withoutDeleted }],
});

const operations = reportsOf({
  deliveries: [
    'Every callback that was received.',
    byTime('received_at desc, delivery_id'),
    { ...receiver, details: ['hour', 'source', 'last_received_at'] },
  ],
  deliveries_daily: ['Callbacks of each day by status.', newest('day', 'family'), receiver],
  silence: [
    'Who has sent nothing for longer than usual.',
    by('out_of_the_ordinary desc nulls last, present_gap desc, business_id, family'),
    receiver,
  ],
  outages: [
    'When nothing was received.',
    by('from_at desc'),
    {
      ...receiver,
      title: 'Outages of the receiver',
      range: 'last_365_days',
    },
  ],
  quarantine: ['Rejected bodies, by reason.', byTime('received_at desc, quarantine_id'), receiver],
  schema_drift: [
    'Fields and events that the documentation does not have.',
    by("kind = 'missing', last_seen desc, event, field, kind, value"),
    { ...receiver, details: ['first_seen'] },
  ],
  other_events: [
    'Events that no report knows yet.',
    byTime('event_time desc, delivery_id'),
    { ...receiver, title: 'Unknown events' },
  ],
  practice_changes: [
    'Clinics and doctors that were added or changed at the platform.',
    newest('event_time', 'delivery_id'),
  ],
});

export const reportGroups = {
  money: { title: 'Money', reports: money },
  appointments: { title: 'Appointments', reports: appointments },
  admissions: { title: 'Admissions', reports: admissions },
  certificates: { title: 'Certificates and reviews', reports: certificates },
  accountant: { title: 'For the accountant', reports: accountant },
  operations: { title: 'Operations', reports: operations },
} as const;
export type ReportGroup = keyof typeof reportGroups;

export const reports: readonly Report[] = Object.values(reportGroups).flatMap(({ reports }) => reports);

export const titleOf = ({ view, title = view.replace(/_daily$/, '_per_day') }: Report) => titled(title);
