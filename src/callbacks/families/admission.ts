import { defineFamily } from './family.ts';
import {
  actionTime,
  amount,
  type Field,
  idOf,
  nested,
  notPersonal,
  optional,
  plannedTime,
  text,
  time,
  untyped,
} from './field.ts';

/** Admissions to a hospital (IPD). Of their about forty fields, those that reports need have a type. */
export const admission = defineFamily({
  name: 'admission',
  events: { 'ipd_admissions.created': 'created', 'ipd_admissions.updated': 'updated' },
  path: { default: ['/registered_url_for_ipd_admissions_events'] },
  table: 'admissions',
  identifiedBy: 'id',
  orderedBy: 'updated_at',
  headline: ['status', 'totalbilled', 'totalpaid'],
  people: { names: ['patient.name'], phones: ['patient.phone'] },
  shown: {
    money: { totalbilled: 'Billed', totalpaid: 'Paid' },
    people: { pid: 'Patient id', docid: 'Doctor', facilityid: 'Clinic' },
    time: { admission_date: 'Admitted', created_at: 'Written', updated_at: 'Last changed' },
    more: { ipid: 'Number', stage: 'Stage', status: 'Status' },
  },
  fields: {
    id: notPersonal(text),
    ipid: text,
    pid: text,
    bid: notPersonal(text),
    docid: notPersonal(text),
    facilityid: notPersonal(text),
    stage: notPersonal(text),
    status: notPersonal(text),
    admission_date: optional(plannedTime),
    totalbilled: optional(amount),
    totalpaid: optional(amount),
    category: optional(nested),
    department: optional(nested),
    bed: optional(nested),
    doc: optional(nested),
    facility: optional(nested),
    patient: optional(nested),
    attendee: optional(nested),
    insurance: optional(nested),
    medico_legal_case: optional(nested),
    procedures: optional(nested),
    rateplan: optional(nested),
    refer: optional(nested),
    duration: optional(nested),
    created_at: optional(actionTime),
    updated_at: optional(actionTime),
  },
});

/** The admission that a `transaction_id` names. */
export const admissionOf = (transactionId: unknown): string | undefined =>
  /\/admissions\/([^/]{1,200})(?:\/|$)/u.exec(String(transactionId ?? ''))?.[1];

/** The admission that a part belongs to: only `transaction_id` names it. */
const admissionId = {
  ...idOf('admission'),
  fromEnvelope: ({ transaction_id }) => admissionOf(transaction_id),
} satisfies Field;

/** Events during an admission. */
export const admissionEvent = defineFamily({
  name: 'admission_event',
  events: { 'ipd_admissions_events.created': 'created', 'ipd_admissions_events.updated': 'updated' },
  path: { default: ['/registered_url_for_ipd_admissions_events_events'] },
  table: 'admission_events',
  identifiedBy: 'id',
  headline: ['kind'],
  shown: {
    time: { at: 'When' },
    more: { kind: 'What', to: 'To', clearance_type: 'Clearance', admission_id: 'Admission' },
  },
  fields: {
    id: notPersonal(text),
    admission_id: admissionId,
    kind: notPersonal(text),
    at: optional(actionTime),
    by: optional(nested),
    clearance_type: optional(notPersonal(text)),
    to: optional(untyped),
  },
});

/** Clearances of an admission. They have no id in `data`: `transaction_id` names the admission and the kind of clearance. */
export const admissionClearance = defineFamily({
  name: 'admission_clearance',
  events: { 'ipd_admissions_clearances.created': 'created', 'ipd_admissions_clearances.updated': 'updated' },
  path: {
    default: ['/registered_url_for_ipd_admissions_clearances_events'],
  },
  table: 'admission_clearances',
  identifiedBy: 'transaction_id',
  facts: { status: ['completed_at', 'completed_by'] },
  orderedBy: 'updated_at',
  headline: ['type', 'status'],
  shown: {
    time: { completed_at: 'Completed', updated_at: 'Last changed' },
    more: { type: 'Kind', status: 'Status', admission_id: 'Admission' },
  },
  fields: {
    transaction_id: {
      ...notPersonal(text),
      fromEnvelope: ({ transaction_id }) => (transaction_id == null ? undefined : String(transaction_id)),
    },
    admission_id: admissionId,
    type: notPersonal(text),
    status: notPersonal(text),
    completed_at: optional(actionTime),
    completed_by: optional(nested),
    updated_at: optional(actionTime),
  },
});

/** Estimates of what an admission will cost. */
export const admissionEstimate = defineFamily({
  name: 'admission_estimate',
  events: { 'ipd_admissions_estimates.created': 'created', 'ipd_admissions_estimates.updated': 'updated' },
  path: {
    default: ['/registered_url_for_ipd_admissions_estimates_events'],
  },
  table: 'admission_estimates',
  identifiedBy: 'id',
  orderedBy: 'updated_at',
  headline: ['rate'],
  shown: {
    money: { rate: 'Rate' },
    time: { date: 'Day', created_at: 'Written', updated_at: 'Last changed' },
    more: { name: 'For', quantity: 'Quantity', remarks: 'Remarks', admission_id: 'Admission' },
  },
  fields: {
    id: notPersonal(text),
    admission_id: admissionId,
    name: text,
    service_id: notPersonal(text),
    quantity: optional(amount),
    rate: optional(amount),
    discount: optional(nested),
    remarks: optional(text),
    date: optional(time),
    added_by: optional(nested),
    created_at: optional(actionTime),
    updated_at: optional(actionTime),
  },
});
