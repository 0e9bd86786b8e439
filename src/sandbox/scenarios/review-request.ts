import { appointmentId, type Clinic, newPatient, type Visit } from '../clinic.ts';
import type { Random } from '../random.ts';
import type { Scenario } from './scenario.ts';

/**
 * A review request (section 2.4); appointment and clinic may be missing. After a visit, staff may have asked for it: it
 * is a manual one.
 */
export function* reviewRequestScenario(random: Random, clinic: Clinic, visit?: Visit): Scenario {
  yield {
    event: visit && random.chance(0.5) ? 'google_review.request_manual' : 'google_review.request',
    data: {
      doctor_id: visit?.doctor ?? random.pick(clinic.doctors),
      google_review_link: `https://reviews.example/r/${random.text(16, '0123456789abcdefghijkmnpqrstuvwxyz')}`,
      patient_id: (visit?.patient ?? newPatient(random)).oid,
      ...(random.chance(0.8)
        ? { appointment_id: visit?.appointmentId ?? appointmentId(random), clinic_id: clinic.clinicId }
        : {}),
    },
  };
}
