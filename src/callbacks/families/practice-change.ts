import { defineFamily } from './family.ts';
import { actionTime, clinicId, doctorId, nested, notPersonal, optional, text } from './field.ts';

/** Doctors who start or stop practising, or become available; a change has no id of its own. */
export const practiceChange = defineFamily({
  name: 'practice_change',
  events: {
    'schedule.start_practice': 'updated',
    'schedule.stop_practice': 'updated',
    'schedule.available_for_consultation': 'updated',
  },
  path: { default: ['/registered_url_for_doctor_events'] },
  table: 'practice_changes',
  labels: { time: { created_at: 'Written', modified_at: 'Last changed' } },
  fields: {
    doctor_id: doctorId,
    partner_doctor_id: notPersonal(text),
    clinic_id: optional(clinicId),
    partner_clinic_id: optional(notPersonal(text)),
    created_at: actionTime,
    modified_at: actionTime,
    partner_meta: optional(nested),
  },
});
