import { defineFamily } from './family.ts';
import { admissionId, nested, notPersonal, optional, text, textId, time, untyped } from './field.ts';

/** Events during an admission. */
export const admissionEvent = defineFamily({
  name: 'admission_event',
  events: ['ipd_admissions_events.created', 'ipd_admissions_events.updated'],
  path: { variable: 'ADMISSION_EVENTS_PATH', default: ['/registered_url_for_ipd_admissions_events_events'] },
  table: 'admission_events',
  identifiedBy: 'id',
  partOf: 'admission',
  fields: {
    id: notPersonal(textId),
    admission_id: admissionId,
    kind: notPersonal(text),
    at: optional(time),
    by: optional(nested),
    clearance_type: optional(notPersonal(text)),
    to: optional(untyped),
  },
});
