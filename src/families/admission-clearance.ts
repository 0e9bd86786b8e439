import { defineFamily } from './family.ts';
import { admissionId, nested, notPersonal, optional, text, textId, time } from './field.ts';

/** Clearances of an admission. They have no id in `data`: `transaction_id` names the admission and the kind of clearance. */
export const admissionClearance = defineFamily({
  name: 'admission_clearance',
  events: ['ipd_admissions_clearances.created', 'ipd_admissions_clearances.updated'],
  path: {
    variable: 'ADMISSION_CLEARANCES_PATH',
    default: ['/registered_url_for_ipd_admissions_clearances_events'],
  },
  table: 'admission_clearances',
  identifiedBy: 'transaction_id',
  partOf: 'admission',
  orderedBy: 'updated_at',
  fields: {
    transaction_id: { ...notPersonal(textId), fromEnvelope: (envelope) => `${envelope}->>'transaction_id'` },
    admission_id: admissionId,
    type: notPersonal(text),
    status: notPersonal(text),
    completed_at: optional(time),
    completed_by: optional(nested),
    updated_at: optional(time),
  },
});
