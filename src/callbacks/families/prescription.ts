import { defineFamily } from './family.ts';
import {
  actionTime,
  clinicId,
  code,
  doctorId,
  nested,
  notPersonal,
  optional,
  patientId,
  text,
  untyped,
} from './field.ts';

export const prescription = defineFamily({
  name: 'prescription',
  events: { 'prescription.created': 'created', 'prescription.updated': 'updated' },
  path: { default: ['/registered_url_for_prescription_events'] },
  table: 'prescriptions',
  key: 'prescription_id',
  changeTime: 'modified_at',
  labels: {
    time: { created_at: 'Written', modified_at: 'Last changed' },
    more: {
      prescription_url: 'PDF',
      prescription_url_print: 'PDF to print',
      partner_appointment_id: 'Clinic’s own appointment number',
    },
  },
  fields: {
    prescription_id: { ...notPersonal(text), alias: 'rx_id' },
    doctor_id: doctorId,
    partner_doctor_id: optional(notPersonal(text)),
    patient_id: patientId,
    partner_patient_id: optional(text),
    clinic_id: optional(clinicId),
    partner_clinic_id: optional(notPersonal(text)),
    partner_appointment_id: optional(text),
    current_version: optional(untyped),
    previous_version: optional(untyped),
    prescription_url: optional(text),
    prescription_url_print: optional(text),
    action: code('created', 'updated'),
    created_at: actionTime,
    modified_at: actionTime,
    partner_meta: optional(nested),
  },
});
