import type { Report } from '../report.ts';
import { newestFirst } from './parts.ts';

export const certificates: readonly Report[] = [
  {
    view: 'consent_forms',
    line: 'Consent forms that patients have signed.',
    families: ['consent_form'],
    ...newestFirst('event_time', 'form_id'),
  },
  {
    view: 'review_requests',
    line: 'Patients who were asked for a review.',
    families: ['review_request'],
    ...newestFirst('requested_at', 'delivery_id'),
  },
  {
    view: 'prescriptions',
    line: 'Prescriptions, with their documents.',
    families: ['prescription'],
    ...newestFirst('event_time', 'prescription_id'),
  },
  {
    view: 'health_accounts',
    line: 'Patients whose health account was linked.',
    families: ['health_account'],
    ...newestFirst('event_time', 'delivery_id'),
  },
  {
    view: 'care_contexts',
    line: 'Visits that were linked to a health account.',
    families: ['care_context'],
    ...newestFirst('event_time', 'care_context_id'),
  },
];
