import { defineFamily } from './family.ts';
import { admissionId, amount, nested, notPersonal, optional, text, textId, time } from './field.ts';

/** Estimates of what an admission will cost. */
export const admissionEstimate = defineFamily({
  name: 'admission_estimate',
  events: ['ipd_admissions_estimates.created', 'ipd_admissions_estimates.updated'],
  path: {
    variable: 'ADMISSION_ESTIMATES_PATH',
    default: ['/registered_url_for_ipd_admissions_estimates_events'],
  },
  table: 'admission_estimates',
  identifiedBy: 'id',
  partOf: 'admission',
  orderedBy: 'updated_at',
  fields: {
    id: notPersonal(textId),
    admission_id: admissionId,
    name: text,
    service_id: notPersonal(text),
    quantity: optional(amount),
    rate: optional(amount),
    discount: optional(nested),
    remarks: optional(text),
    date: optional(time),
    added_by: optional(nested),
    created_at: optional(time),
    updated_at: optional(time),
  },
});
