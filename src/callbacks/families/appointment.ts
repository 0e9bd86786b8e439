import { defineFamily } from './family.ts';
import {
  actionTime,
  clinicId,
  codes,
  doctorId,
  nested,
  notPersonal,
  optional,
  patientId,
  text,
  time,
} from './field.ts';

// Their states: reporting.appointment_state.
const statuses = {
  BK: 'booked',
  CK: 'checked in',
  RV: 'reserved',
  IN: 'initiated',
  PA: 'parked',
  OG: 'under way',
  CM: 'completed, with a prescription',
  CMNP: 'completed, without a prescription',
  AB: 'begun and not completed',
  NS: 'no show',
  NSD: 'no show, says the doctor',
  NSS: 'no show, says the desk',
  CN: 'cancelled',
  CND: 'cancelled by the doctor',
  CNS: 'cancelled by the desk',
  PC: 'cancelled by the patient before it was certain',
  PNR: 'cancelled, not paid',
  RE: 'rescheduled',
  RES: 'rescheduled by the desk',
  RED: 'rescheduled by the doctor',
};

export const appointment = defineFamily({
  name: 'appointment',
  events: {
    'appointment.reconciled': 'reconciled',
    'appointment.created': 'created',
    'appointment.updated': 'updated',
    'appointment.statuschange': 'updated',
    'appointment.assessments.taken': 'updated',
  },
  path: {
    default: [
      '/registered_url_for_add_appointment_events',
      '/registered_url_for_update_appointment_events',
      '/registered_url_for_status_change_events',
      '/registered_url_for_assessment_taken_events',
    ],
  },
  table: 'appointments',
  key: 'appointment_id',
  changeTime: 'modified_at',
  labels: {
    time: { start_time: 'Starts', created_at: 'Booked', modified_at: 'Last changed' },
    more: {
      partner_appointment_id: 'Clinic’s own number',
      prev_aids: 'Rescheduled from',
      next_aid: 'Rescheduled to',
    },
  },
  fields: {
    appointment_id: notPersonal(text),
    partner_appointment_id: optional(text),
    doctor_id: doctorId,
    partner_doctor_id: optional(notPersonal(text)),
    patient_id: patientId,
    partner_patient_id: optional(text),
    clinic_id: clinicId,
    partner_clinic_id: optional(notPersonal(text)),
    status: codes(statuses),
    action: optional(notPersonal(text)),
    created_at: actionTime,
    modified_at: actionTime,
    // The platform's read API has it; callbacks need not.
    start_time: optional(time),
    custom_attributes: optional(nested),
    partner_meta: nested,
    sa_ids: optional(nested),
    workflow_data: optional(nested),
    prev_aids: optional(nested),
    next_aid: optional(nested),
  },
  // What an appointment may get later is left out.
  sample: {
    action: 'created',
    sa_ids: ['assessment-1'],
    start_time: undefined,
    workflow_data: undefined,
    prev_aids: undefined,
    next_aid: undefined,
  },
});
