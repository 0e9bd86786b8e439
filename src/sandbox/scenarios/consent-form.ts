import { type Clinic, hexId, newPatient, pdfUrl, type Visit } from '../clinic.ts';
import type { Random } from '../random.ts';
import type { Scenario } from './scenario.ts';

/** A medical certificate (section 2.3): created, sometimes updated. The one of a visit has a type. */
export function* consentFormScenario(random: Random, clinic: Clinic, visit?: Visit): Scenario {
  const form = {
    docid: visit?.doctor ?? random.pick(clinic.doctors),
    id: hexId(random),
    owner: clinic.businessId,
    patientid: (visit?.patient ?? newPatient(random)).oid,
    ...(visit && { type: random.pick(['mcert', 'consent']) }),
  };
  // Each version has its own PDF.
  const pdf = () => ({ sendurlpdf: pdfUrl(random, 'forms/send'), url: pdfUrl(random, 'forms') });
  yield { event: 'mcert.created', data: { ...form, ...pdf() } };
  while (random.chance(0.4)) yield { event: 'mcert.updated', data: { ...form, ...pdf() } };
}
