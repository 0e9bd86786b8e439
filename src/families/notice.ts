import { defineFamily } from './family.ts';
import { nested, notPersonal, personName, text } from './field.ts';

/** Messages to patients, and doctors who joined a consultation; a notice has no id of its own. */
export const notice = defineFamily({
  name: 'notice',
  events: [
    'appointment.tele.dr_joined',
    'appointment.reminder_instant',
    'appointment.followup_reminder_instant',
    'vaccination.reminder',
    'prescription.communication',
  ],
  path: {
    variable: 'NOTICES_PATH',
    default: [
      '/registered_url_for_appointment_tele_dr_joined_webhook_events',
      '/registered_url_for_appointment_reminder_instant_webhook_events',
      '/registered_url_for_appointment_followup_reminder_instant_webhook_events',
      '/registered_url_for_vaccination_reminder_webhook_events',
      '/registered_url_for_prescription_communication_events',
    ],
  },
  table: 'notices',
  fields: {
    appointment_id: notPersonal(text),
    doctor_id: notPersonal(text),
    patient_id: text,
    clinic_id: notPersonal(text),
    prescription_id: notPersonal(text),
    prescription_url: text,
    doc_name: personName,
    doctor_name: text,
    patient_name: personName,
    actor_oid: notPersonal(text),
    booking_link: text,
    due_date: text,
    vaccines: text,
    video_connect: nested,
  },
});
