import { defineFamily } from './family.ts';
import { codes, notPersonal, optional, text, untyped } from './field.ts';

/** Health accounts (ABHA), each linked to a patient: its creation, and its profile shared at a counter. */
export const healthAccount = defineFamily({
  name: 'health_account',
  events: { 'abha.created': 'created', 'abha.hip_profile_share': 'updated' },
  // The platform documents no address for these events.
  path: { default: ['/registered_url_for_health_account_events'] },
  table: 'health_accounts',
  identifiedBy: 'abha_address',
  shown: {
    people: {
      oid: 'Patient id',
      partner_patient_id: 'Your patient id',
      abha_address: 'Address',
      abha_number: 'Number',
    },
  },
  fields: {
    abha_address: text,
    abha_number: text,
    oid: text,
    partner_patient_id: text,
    hip_id: notPersonal(text),
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
  identifiedBy: 'care_context_id',
  headline: ['status'],
  facts: { status: ['error'] },
  shown: {
    people: { oid: 'Patient id', partner_patient_id: 'Your patient id', abha_address: 'Address' },
    more: { status: 'Status', error: 'Error', retry_count: 'Attempts' },
  },
  fields: {
    care_context_id: notPersonal(text),
    abha_address: text,
    oid: text,
    partner_patient_id: text,
    hip_id: notPersonal(text),
    status: codes({ LINKED: 'linked' }),
    error: untyped,
    retry_count: notPersonal(untyped),
  },
});
