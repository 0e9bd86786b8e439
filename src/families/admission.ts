import { defineFamily } from './family.ts';
import { amount, nested, notPersonal, optional, text, textId, time } from './field.ts';

/** Admissions to a hospital (IPD). Of their about forty fields, those that reports need have a type. */
export const admission = defineFamily({
  name: 'admission',
  events: ['ipd_admissions.created', 'ipd_admissions.updated'],
  path: { variable: 'ADMISSIONS_PATH', default: ['/registered_url_for_ipd_admissions_events'] },
  table: 'admissions',
  identifiedBy: 'id',
  orderedBy: 'updated_at',
  fields: {
    id: notPersonal(textId),
    ipid: text,
    pid: text,
    bid: notPersonal(text),
    docid: notPersonal(text),
    facilityid: notPersonal(text),
    stage: notPersonal(text),
    status: notPersonal(text),
    admission_date: optional(time),
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
    created_at: optional(time),
    updated_at: optional(time),
  },
});

/** The admission that a `transaction_id` names, as in the function admission_of. */
export const admissionOf = (transactionId: string): string | undefined =>
  /\/admissions\/([^/]{1,200})(?:\/|$)/u.exec(transactionId)?.[1];
