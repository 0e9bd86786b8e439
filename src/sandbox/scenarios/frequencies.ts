import type { Clinic } from '../clinic.ts';
import type { Family } from '../families.ts';
import type { Random } from '../random.ts';
import { admissionScenario } from './admission.ts';
import { appointmentScenario } from './appointment.ts';
import { consentFormScenario } from './consent-form.ts';
import { bookingScenario, healthAccountScenario } from './health-account.ts';
import { vaccinationScenario } from './notices.ts';
import { practiceScenario } from './practice.ts';
import { receiptScenario } from './receipt.ts';
import { reviewRequestScenario } from './review-request.ts';
import type { Scenario } from './scenario.ts';

type Begin = (random: Random, clinic: Clinic, now: number) => Scenario;

/** Scenarios by their frequency at a clinic, each with the families of its events. */
const frequencies: readonly { begin: Begin; times: number; families: readonly Family[] }[] = [
  {
    begin: appointmentScenario,
    times: 5,
    families: [
      'appointment',
      'receipt',
      'payment_request',
      'prescription',
      'consent_form',
      'review_request',
      'notice',
    ],
  },
  { begin: practiceScenario, times: 2, families: ['practice_change'] },
  { begin: vaccinationScenario, times: 2, families: ['notice'] },
  {
    begin: admissionScenario,
    times: 1,
    families: ['admission', 'admission_event', 'admission_clearance', 'admission_estimate'],
  },
  { begin: healthAccountScenario, times: 1, families: ['health_account', 'care_context'] },
  { begin: bookingScenario, times: 2, families: ['booking'] },
];

const repeat = (begin: Begin, times: number): Begin[] => Array.from({ length: times }, () => begin);

const unrelated: readonly Begin[] = [
  ...repeat(receiptScenario, 4),
  ...repeat((random, clinic) => consentFormScenario(random, clinic), 2),
  (random, clinic) => reviewRequestScenario(random, clinic),
];

/** The scenarios that have callbacks of these families, as often as at a clinic; see HistoryOptions. */
export function scenariosOf(families: readonly Family[] | undefined): readonly Begin[] {
  if (!families) return unrelated;
  const found = frequencies.filter((scenario) =>
    scenario.families.some((family) => families.includes(family)),
  );
  if (found.length === 0)
    throw new Error(`No scenario of frequencies.ts has callbacks of ${families.join(', ')}`);
  return found.flatMap(({ begin, times }) => repeat(begin, times));
}
