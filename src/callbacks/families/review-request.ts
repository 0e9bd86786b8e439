import { defineFamily } from './family.ts';
import { clinicId, doctorId, idOf, patientId, text } from './field.ts';

/** Google review requests (service-interface sections 2.4, 4.5 and 6); a request has no id of its own. */
export const reviewRequest = defineFamily({
  name: 'review_request',
  events: { 'google_review.request': 'updated', 'google_review.request_manual': 'updated' },
  path: {
    variable: 'REVIEW_REQUESTS_PATH',
    default: ['/registered_url_for_google_review_events', '/registered_url_for_google_review_manual_events'],
    isBasic: true,
  },
  table: 'review_requests',
  labels: { more: { google_review_link: 'Link' } },
  fields: {
    doctor_id: doctorId,
    google_review_link: text,
    patient_id: patientId,
    appointment_id: idOf('appointment'),
    clinic_id: clinicId,
  },
});
