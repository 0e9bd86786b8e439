import { monthEnd } from '../../common/days.ts';
import { titled } from '../../common/words.ts';
import { hrefTo, recordHref, type Values } from '../ui/context.ts';
import { nothingPaid } from '../ui/values.tsx';
import { type Definition, defineList, type Links, type List } from './list.ts';
import { nameOfMonth } from './ranges.ts';
import { systemLists } from './system-lists.ts';

/** The newest name and phone on a receipt of the patient, of whom the view has only the id. */
const withPerson = (view: string) => {
  const newest = (column: string) => `(
    select p.${column} from public.receipts p
    where p.business_id = v.business_id and p.patient_oid = v.patient_id and p.${column} <> ''
    order by p.created_at desc nulls last limit 1) as ${column}`;
  return `(select v.*, ${newest('name')}, ${newest('mobile')} from ${view} v)`;
};

const places = 'doctor_id clinic_id';
const money = 'net_amount:amount paid_amount due_amount';
const byReceipt = 'issued_at desc, business_id, receipt_id';
const byDay = (day: string, last = day) => ({ range: undefined, from: day, to: last });
const takingsBy = (
  by: string,
  column: string,
  order = 'collected_amount desc nulls last',
  choose: (value: string) => Values = (value) => ({ [by]: value }),
): Definition => ({
  name: `takings-by-${by}`,
  title: `Takings by ${by}`,
  unit: [by, `${by}s`],
  tab: ['takings', `By ${by}`],
  source: 'reporting.takings',
  columns: `${column}:title collected_amount:amount refunded_amount receipts:note net_amount:badge due_amount`,
  links: {
    [column]: ({ [column]: value }, entered) =>
      value ? hrefTo('/payments', { ...entered, ...choose(value) }) : undefined,
  },
  groupBy: column,
  order,
  leadsWithBusiness: true,
  range: 'this_month',
});
const toRecord = (column: string, family: string, key: string): Links => ({
  [column]: (row) =>
    row[key] ? recordHref(family || row.family!, row.business_id ?? '', row[key]) : undefined,
});
const toReceipt = toRecord('receipt_number', 'receipt', 'receipt_id');
const ofReceipts = (tab: string) =>
  ({ unit: ['receipt', 'receipts'], tab: ['receipts', tab], links: toReceipt }) as const;
const toAppointment = (column: string) => toRecord(column, 'appointment', 'appointment_id');

const choicesOf = (values: string) =>
  Object.fromEntries(values.split(/\s+/).map((value) => [value, titled(value)]));
const appointmentStates = choicesOf(`booked ongoing completed completed_without_prescription no_show aborted
  cancelled_by_patient cancelled_by_doctor cancelled_by_staff cancelled_unpaid rescheduled other`);
const appointmentDetails = 'business_id appointment_id day status patient_id partner_appointment_id';

/** By the first day of an age. */
const ages = { 0: '0 to 7 days', 8: '8 to 30 days', 31: '31 to 90 days', 91: 'over 90 days' };
const dues = `(select *, 1 as receipts, (array[0, 8, 31, 91])[1 + width_bucket(days_outstanding, array[8, 31, 91])] as age
  from reporting.outstanding_receipts)`;
export const duesByAge = defineList({
  name: 'dues-by-age',
  title: 'Due by age',
  unit: ['age', 'ages'],
  source: dues,
  columns: 'age:title receipts:note due_amount:amount',
  groupBy: 'age',
  order: 'age',
  choices: { age: ages },
  links: { age: ({ age }, entered) => (age ? hrefTo('/unpaid', { ...entered, age }) : undefined) },
});

export const lists: readonly List[] = [
  defineList({
    name: 'receipts',
    title: 'Receipts',
    ...ofReceipts('All'),
    source: '(select * from reporting.receipts where not reporting.is_failed(status))',
    columns: `issued_at receipt_number:title name:note mobile ${places} ${money} state:badge`,
    also: `business_id receipt_id day status patient_id gross_amount item_discount_amount additional_discount_type
      additional_discount_value additional_discount_amount payment_id payment_link transaction_reference pdf_url remarks aid updated_at delivery_id`,
    order: byReceipt,
    leadsWithBusiness: true,
    choices: { state: { ...choicesOf('paid part_paid'), unpaid: nothingPaid } },
  }),
  defineList({
    name: 'unpaid',
    title: 'Unpaid receipts',
    ...ofReceipts('Unpaid'),
    source: dues,
    columns: `issued_at receipt_number:title name:note mobile:phone ${places} net_amount paid_amount due_amount:amount
      days_outstanding:badge payment_link`,
    also: 'business_id receipt_id day patient_id pdf_url delivery_id',
    order: 'day, issued_at, business_id, receipt_id',
    range: 'all',
    choices: { age: ages },
  }),
  defineList({
    name: 'deleted',
    title: 'Deleted receipts',
    ...ofReceipts('Deleted'),
    // The day on which it was deleted: that is the question.
    source: `(select business_id, receipt_id, reporting.day(deleted_at) as day, deleted_at, receipt_number, issued_at, clinic_id,
      doctor_id, patient_id, name, mobile, net_amount, paid_amount, due_amount, status, delivery_id, state
      from reporting.deleted_receipts where not reporting.is_failed(status))`,
    columns: `deleted_at issued_at receipt_number:title name:note mobile ${places} net_amount:amount paid_amount state:badge`,
    also: 'business_id receipt_id day patient_id status delivery_id',
    order: 'deleted_at desc, business_id, receipt_id',
    leadsWithBusiness: true,
  }),
  defineList({
    name: 'failed',
    title: 'Failed receipts, which are in no sum',
    ...ofReceipts('Failed'),
    source: '(select * from reporting.all_receipts where reporting.is_failed(status))',
    columns: `issued_at receipt_number:title name:note mobile ${places} net_amount:amount paid_amount state:badge`,
    also: 'business_id receipt_id day patient_id deleted_at delivery_id',
    order: byReceipt,
    leadsWithBusiness: true,
    isUnsummed: true,
  }),
  defineList({
    name: 'twice',
    title: 'Receipts that may have been entered twice',
    ...ofReceipts('Twice'),
    source: 'reporting.duplicate_receipts',
    columns: `issued_at receipt_number:title name:note mobile ${places} ${money} copy_number:badge`,
    also: 'business_id receipt_id first_receipt_id day patient_id delivery_id',
    order: 'day desc, business_id, first_receipt_id, copy_number',
  }),
  defineList({
    name: 'appointments',
    title: 'Appointments',
    unit: ['appointment', 'appointments'],
    tab: ['appointments', 'By time'],
    source: '(select *, patient_name as name from reporting.schedule)',
    columns: `starts_at:title name:note mobile:phone doctor_id:amount clinic_id state:badge booked_at`,
    also: `${appointmentDetails} delivery_id`,
    links: toAppointment('starts_at'),
    order: 'starts_at, business_id, appointment_id',
    leadsWithBusiness: true,
    range: 'today',
    hasDaysToCome: true,
    choices: { state: appointmentStates },
  }),
  defineList({
    name: 'booked',
    title: 'Appointments by the day of booking',
    unit: ['appointment', 'appointments'],
    tab: ['appointments', 'By booking'],
    source: withPerson('reporting.appointments'),
    columns: `booked_at:title starts_at name:note mobile doctor_id:amount clinic_id state:badge`,
    also: `${appointmentDetails} completed_at modified_at delivery_id`,
    links: toAppointment('booked_at'),
    order: 'booked_at desc, business_id, appointment_id',
    leadsWithBusiness: true,
    choices: { state: appointmentStates },
  }),
  defineList({ ...takingsBy('day', 'day', 'day desc', byDay), name: 'takings' }),
  defineList({
    ...takingsBy('month', 'month', 'month desc'),
    // What was collected takes longer than a page may.
    source: "(select * from reporting.takings where kind = 'receipt')",
    columns: 'month:title receipts:note net_amount:amount due_amount:badge',
    links: {
      month: ({ month }, entered) =>
        hrefTo('/takings', { ...entered, ...byDay(`${month}-01`, monthEnd(`${month}-01`)) }),
    },
    words: { month: nameOfMonth },
    range: 'last_13_months',
    isKept: true,
  }),
  defineList(takingsBy('doctor', 'doctor_id')),
  defineList(takingsBy('clinic', 'clinic_id')),
  defineList({
    name: 'payments',
    title: 'Payments and refunds',
    unit: ['payment', 'payments'],
    tab: ['takings', 'Each payment'],
    // A left join, so that the days of the payments come first.
    source: `(select p.*, r.receipt_number, r.name, r.mobile from reporting.payments p
      left join public.receipts r using (business_id, receipt_id))`,
    columns: `paid_at:badge amount:amount kind receipt_number:title name:note mobile ${places}`,
    also: 'business_id receipt_id day patient_id delivery_id',
    links: toReceipt,
    order: 'paid_at desc, business_id, receipt_id, delivery_id',
    range: 'today',
    choices: { kind: { payment: 'Payment', refund: 'Refund' } },
  }),
  defineList({
    name: 'papers',
    title: 'Papers and review requests',
    unit: ['paper', 'papers'],
    source: withPerson(`(
      select business_id, form_id as record, 'consent_form' as family, day, event_time, coalesce(nullif(type, ''), 'consent') as kind, doctor_id, patient_id,
        pdf_url as link, delivery_id from reporting.consent_forms
      union all
      select business_id, prescription_id, 'prescription', day, event_time, 'prescription', doctor_id, patient_id, pdf_url, delivery_id
      from reporting.prescriptions
      union all
      select business_id, delivery_id::text, 'review_request', day, requested_at, 'review_request', doctor_id, patient_id,
        google_review_link, delivery_id from reporting.review_requests)`),
    columns: 'event_time:title kind:badge name:note mobile doctor_id link:amount',
    also: 'business_id family record day patient_id delivery_id',
    links: toRecord('event_time', '', 'record'),
    order: 'event_time desc, delivery_id',
    leadsWithBusiness: true,
    choices: { kind: { ...choicesOf('consent prescription review_request'), mcert: 'Medical certificate' } },
  }),
  defineList({
    name: 'admissions',
    title: 'Admitted now',
    unit: ['admission', 'admissions'],
    // With offset 0, since PostgreSQL does not know how few they are: it would read all admissions for a join.
    source: `(select o.*, o.facility_id as clinic_id, a.* from reporting.open_admissions o cross join lateral (
      select receiver.name_of(patient->'name') as name, patient->>'phone' as mobile, delivery_id
      from public.admissions where (business_id, id) = (o.business_id, o.admission_id) offset 0) a)`,
    columns: `admitted_at:title name:note mobile days_since_admission:badge department ${places} billed_amount paid_amount due_amount:amount`,
    also: `business_id admission_id day patient_id inpatient_number stage status open_clearances open_clearance_types estimated_amount
      delivery_id`,
    links: toRecord('admitted_at', 'admission', 'admission_id'),
    order: 'admitted_at, business_id, admission_id',
    leadsWithBusiness: true,
    range: 'all',
  }),
  defineList({
    name: 'payment-links',
    title: 'Payment links',
    unit: ['request', 'requests'],
    source: withPerson('(select *, net_amount as requested_amount from reporting.payment_requests)'),
    columns: 'requested_at:title name:note mobile doctor_id requested_amount:amount payment_link:badge',
    also: 'business_id day patient_id appointment_id delivery_id',
    links: toRecord('requested_at', 'payment_request', 'delivery_id'),
    order: 'requested_at desc, business_id, delivery_id',
    leadsWithBusiness: true,
  }),
  ...systemLists,
];

export const listNamed = (name: string): List => lists.find((list) => list.name === name)!;
