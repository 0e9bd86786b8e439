import { defineFamily } from './family.ts';
import { clinicId, doctorId, idOf, nested, optional, patientId, personName, text } from './field.ts';

/** Messages to patients, and doctors who joined a consultation; a notice has no id of its own. */
export const notice = defineFamily({
  name: 'notice',
  events: {
    'appointment.tele.dr_joined': 'updated',
    'appointment.reminder_instant': 'updated',
    'appointment.followup_reminder_instant': 'updated',
    'vaccination.reminder': 'updated',
    'prescription.communication': 'updated',
  },
  path: {
    default: [
      '/registered_url_for_appointment_tele_dr_joined_webhook_events',
      '/registered_url_for_appointment_reminder_instant_webhook_events',
      '/registered_url_for_appointment_followup_reminder_instant_webhook_events',
      '/registered_url_for_vaccination_reminder_webhook_events',
      '/registered_url_for_prescription_communication_events',
    ],
  },
  table: 'notices',
  labels: {
    people: {
      patient_name: 'Patient',
      doc_name: 'Doctor’s name',
      doctor_name: 'Doctor’s name',
      actor_oid: 'Actor',
    },
    time: { due_date: 'Due' },
    more: { prescription_url: 'PDF', booking_link: 'Booking' },
  },
  fields: {
    appointment_id: optional(idOf('appointment')),
    doctor_id: doctorId,
    patient_id: patientId,
    clinic_id: optional(clinicId),
    prescription_id: optional(idOf('prescription')),
    prescription_url: optional(text),
    doc_name: optional(personName),
    doctor_name: optional(text),
    patient_name: optional(personName),
    actor_oid: optional(doctorId),
    booking_link: optional(text),
    due_date: optional(text),
    vaccines: optional(text),
    video_connect: optional(nested),
  },
  sample: {
    doc_name: { salutation: 'Dr', first_name: 'Asha', last_name: 'Rao' },
    doctor_name: 'Dr Asha Rao',
    due_date: '2026-11-30',
    vaccines: 'MMR',
    video_connect: { meet_link: 'https://meet.invalid/appointment-1', vendor: 'sample' },
  },
});
