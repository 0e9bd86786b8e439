import { defineFamily } from './family.ts';
import { clinicId, codes, type Field, notPersonal, optional, patientId, text, untyped } from './field.ts';

const abhaAddress = { ...text, sample: 'abha_name-1@example' } satisfies Field;

/** Health accounts (ABHA), each linked to a patient: its creation, and its profile shared at a counter. */
export const healthAccount = defineFamily({
  name: 'health_account',
  events: { 'abha.created': 'created', 'abha.hip_profile_share': 'updated' },
  // The platform documents no address for these events.
  path: { default: ['/registered_url_for_health_account_events'] },
  table: 'health_accounts',
  key: 'abha_address',
  labels: {
    people: {
      partner_patient_id: 'Clinic’s own patient number',
      abha_address: 'Address',
      abha_number: 'Number',
    },
  },
  fields: {
    abha_address: abhaAddress,
    abha_number: text,
    oid: patientId,
    partner_patient_id: text,
    hip_id: clinicId,
    hip_code: optional(notPersonal(text)),
    req_id: optional(notPersonal(text)),
  },
});

/** Health records of a visit that are linked to a health account. */
export const careContext = defineFamily({
  name: 'care_context',
  events: { 'abha.link_care_context': 'updated' },
  path: { default: ['/registered_url_for_care_context_events'] },
  table: 'care_contexts',
  key: 'care_context_id',
  dependentFields: { status: ['error'] },
  labels: {
    people: { partner_patient_id: 'Clinic’s own patient number', abha_address: 'Address' },
    more: { retry_count: 'Attempts' },
  },
  fields: {
    care_context_id: notPersonal(text),
    abha_address: abhaAddress,
    oid: patientId,
    partner_patient_id: text,
    hip_id: clinicId,
    status: codes({ LINKED: 'linked' }),
    error: untyped,
    retry_count: notPersonal(untyped),
  },
});
