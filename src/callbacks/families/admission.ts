import { defineFamily } from './family.ts';
import {
  actionTime,
  amount,
  businessId,
  clinicId,
  doctorId,
  type Field,
  idOf,
  nested,
  notPersonal,
  optional,
  patientId,
  patientName,
  patientPhone,
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
  key: 'id',
  changeTime: 'updated_at',
  people: { names: ['patient.name'], phones: ['patient.phone'] },
  labels: {
    money: { totalbilled: 'Billed', totalpaid: 'Paid' },
    time: { admission_date: 'Admitted', created_at: 'Written', updated_at: 'Last changed' },
    more: { ipid: 'Number' },
  },
  fields: {
    id: notPersonal(text),
    ipid: text,
    pid: patientId,
    bid: businessId,
    docid: doctorId,
    facilityid: clinicId,
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
  sample: {
    stage: 'admitted',
    status: 'active',
    admission_date: '2023-11-14 07:25:18.779000+00:00',
    totalbilled: 12_500.5,
    totalpaid: 5_000,
    department: { name: 'Surgery' },
    bed: { number: '12', ward: { name: 'A' } },
    doc: { name: 'Dr Asha Rao' },
    patient: { name: patientName.sample, phone: patientPhone.sample, gender: 'F' },
    created_at: '2023-11-14 07:25:18.779000+00:00',
    updated_at: '2023-11-14 08:25:18.779000+00:00',
  },
});

const admissionOf = (transactionId: unknown): string | undefined =>
  /\/admissions\/([^/]{1,200})(?:\/|$)/u.exec(String(transactionId ?? ''))?.[1];

/** Only `transaction_id` names the admission of a part. */
const admissionId = {
  ...idOf('admission'),
  fromEnvelope: ({ transaction_id }) => admissionOf(transaction_id),
} satisfies Field;

const staff = { id: 'nurse-1', name: 'Nurse One' };

export const admissionEvent = defineFamily({
  name: 'admission_event',
  events: { 'ipd_admissions_events.created': 'created', 'ipd_admissions_events.updated': 'updated' },
  path: { default: ['/registered_url_for_ipd_admissions_events_events'] },
  table: 'admission_events',
  key: 'id',
  labels: { time: { at: 'When' }, more: { kind: 'What', clearance_type: 'Clearance' } },
  fields: {
    id: notPersonal(text),
    admission_id: admissionId,
    kind: notPersonal(text),
    at: optional(actionTime),
    by: optional(nested),
    clearance_type: optional(notPersonal(text)),
    to: optional(untyped),
  },
  sample: {
    transaction_id: 'ipd/business-1/admissions/admission-1/events/admission_event-1',
    kind: 'moved',
    by: staff,
    clearance_type: 'billing',
    to: 'ward B',
  },
});

/** Clearances of an admission. They have no id in `data`: `transaction_id` names the admission and the kind of clearance. */
export const admissionClearance = defineFamily({
  name: 'admission_clearance',
  events: { 'ipd_admissions_clearances.created': 'created', 'ipd_admissions_clearances.updated': 'updated' },
  path: { default: ['/registered_url_for_ipd_admissions_clearances_events'] },
  table: 'admission_clearances',
  key: 'transaction_id',
  dependentFields: { status: ['completed_at', 'completed_by'] },
  changeTime: 'updated_at',
  labels: { time: { completed_at: 'Completed', updated_at: 'Last changed' }, more: { type: 'Kind' } },
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
  sample: {
    transaction_id: 'ipd/business-1/admissions/admission-1/clearances/billing',
    type: 'billing',
    status: 'pending',
    completed_by: staff,
  },
});

export const admissionEstimate = defineFamily({
  name: 'admission_estimate',
  events: { 'ipd_admissions_estimates.created': 'created', 'ipd_admissions_estimates.updated': 'updated' },
  path: { default: ['/registered_url_for_ipd_admissions_estimates_events'] },
  table: 'admission_estimates',
  key: 'id',
  changeTime: 'updated_at',
  labels: { time: { date: 'Day', created_at: 'Written', updated_at: 'Last changed' }, more: { name: 'For' } },
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
  sample: {
    transaction_id: 'ipd/business-1/admissions/admission-1/estimates/admission_estimate-1',
    name: 'Room',
    discount: { category: 'amount', value: 100 },
    added_by: staff,
  },
});
