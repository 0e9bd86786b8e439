import { type Clinic, partnerId } from '../clinic.ts';
import type { Random } from '../random.ts';
import { inSeconds, type Scenario, type ScenarioEvent, sometimes } from './scenario.ts';

/** A doctor starts to practise, may be available for consultations, and stops. */
export function* practiceScenario(random: Random, clinic: Clinic, startedAt: number): Scenario {
  const doctor = random.pick(clinic.doctors);
  const change = (name: string, now: number): ScenarioEvent => {
    // Changes of one doctor within a second would be the same.
    clinic.lastPracticeChange = Math.max(inSeconds(now), clinic.lastPracticeChange + 1);
    return {
      event: `schedule.${name}`,
      data: {
        doctor_id: doctor,
        partner_doctor_id: partnerId(doctor),
        ...sometimes(random, {
          clinic_id: clinic.clinicId,
          partner_clinic_id: partnerId(clinic.clinicId),
          partner_meta: { room: `${random.between(1, 12)}` },
        }),
        created_at: inSeconds(startedAt),
        modified_at: clinic.lastPracticeChange,
      },
    };
  };
  let now = yield change('start_practice', startedAt);
  if (random.chance(0.8)) now = yield change('available_for_consultation', now);
  yield change('stop_practice', now);
}
