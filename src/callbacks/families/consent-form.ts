import { defineFamily } from './family.ts';
import { businessId, codes, doctorId, notPersonal, patientId, text } from './field.ts';

/** Consent forms, which the receiver calls medical certificates (service-interface sections 2.3, 4.5 and 6). */
export const consentForm = defineFamily({
  name: 'consent_form',
  events: { 'mcert.created': 'created', 'mcert.updated': 'updated' },
  path: { variable: 'CONSENT_FORMS_PATH', default: ['/registered_url_for_consent_form'], isBasic: true },
  table: 'consent_forms',
  key: 'id',
  title: 'certificate',
  labels: { more: { type: 'Kind', url: 'PDF', sendurlpdf: 'PDF for the patient' } },
  fields: {
    id: notPersonal(text),
    docid: doctorId,
    owner: businessId,
    patientid: patientId,
    sendurlpdf: text,
    url: text,
    type: codes({ mcert: 'medical certificate', consent: 'consent' }),
  },
});
