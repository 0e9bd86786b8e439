import { defineFamily } from './family.ts';
import { code, nested, notPersonal, optional, text, textId, time } from './field.ts';

// What they mean: reporting.appointment_state.
const statuses = 'BK CK RV IN PA OG CM CMNP AB NS NSD NSS CN CND CNS PC PNR RE RES RED'.split(' ');

/** Appointments: all their events are about one record. */
export const appointment = defineFamily({
  name: 'appointment',
  events: [
    'appointment.created',
    'appointment.updated',
    'appointment.statuschange',
    'appointment.assessments.taken',
  ],
  reconciledBy: 'appointment.reconciled',
  path: {
    variable: 'APPOINTMENTS_PATH',
    default: [
      '/registered_url_for_add_appointment_events',
      '/registered_url_for_update_appointment_events',
      '/registered_url_for_status_change_events',
      '/registered_url_for_assessment_taken_events',
    ],
  },
  table: 'appointments',
  versions: 'appointment_versions',
  identifiedBy: 'appointment_id',
  orderedBy: 'modified_at',
  fields: {
    appointment_id: notPersonal(textId),
    partner_appointment_id: optional(text),
    doctor_id: notPersonal(text),
    partner_doctor_id: optional(notPersonal(text)),
    patient_id: text,
    partner_patient_id: optional(text),
    clinic_id: notPersonal(text),
    partner_clinic_id: optional(notPersonal(text)),
    status: code(...statuses),
    action: optional(notPersonal(text)),
    created_at: time,
    modified_at: time,
    custom_attributes: optional(nested),
    partner_meta: nested,
    sa_ids: optional(nested),
    workflow_data: optional(nested),
    prev_aids: optional(nested),
    next_aid: optional(nested),
  },
});
