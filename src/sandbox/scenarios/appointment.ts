import { aboutVisit, type Clinic, newVisit, partnerId, partnerPartiesOf, type Visit } from '../clinic.ts';
import type { Random } from '../random.ts';
import { consentFormScenario } from './consent-form.ts';
import { doctorJoined } from './notices.ts';
import { prescriptionScenario } from './prescription.ts';
import { receiptScenario } from './receipt.ts';
import { reviewRequestScenario } from './review-request.ts';
import { inSeconds, interleaved, type Scenario, type ScenarioEvent, sometimes } from './scenario.ts';

/** An appointment with all that it leads to: it is booked, then cancelled, or the patient comes. */
export function* appointmentScenario(random: Random, clinic: Clinic, bookedAt: number): Scenario {
  const visit = newVisit(random, clinic);
  const version = versionsOf(random, visit, bookedAt);
  let now = yield version('appointment.created', bookedAt, { status: 'BK', action: 'created' });
  while (random.chance(0.4)) now = yield version('appointment.updated', now, { action: 'updated' });
  if (random.chance(0.5)) now = yield { event: 'appointment.reminder_instant', data: aboutVisit(visit) };
  if (random.chance(0.15)) {
    yield version('appointment.statuschange', now, { status: random.pick(['CN', 'CND', 'CNS']) });
    return;
  }
  if (random.chance(0.4)) now = yield version('appointment.assessments.taken', now, {});
  now = yield version('appointment.statuschange', now, { status: 'OG' });
  if (random.chance(0.3)) now = yield doctorJoined(random, visit);
  const isPrescribed = random.chance(0.7);
  now = yield* interleaved(random, now, [
    receiptScenario(random, clinic, now, visit),
    ...(isPrescribed ? [prescriptionScenario(random, visit, now)] : []),
    ...(random.chance(0.4) ? [consentFormScenario(random, clinic, visit)] : []),
  ]);
  now = yield version('appointment.statuschange', now, { status: isPrescribed ? 'CM' : 'CMNP' });
  if (random.chance(0.5)) yield* reviewRequestScenario(random, clinic, visit);
  if (random.chance(0.3)) yield { event: 'appointment.followup_reminder_instant', data: aboutVisit(visit) };
}

function versionsOf(random: Random, visit: Visit, bookedAt: number) {
  const partners = { partner_appointment_id: partnerId(visit.appointmentId), ...partnerPartiesOf(visit) };
  const assessment = random.text(8, '0123456789abcdef');
  const appointment: Record<string, unknown> = {
    ...aboutVisit(visit),
    created_at: inSeconds(bookedAt),
    partner_meta: { source: random.pick(['app', 'desk', 'phone']) },
  };
  let modifiedAt = 0;

  return (event: string, now: number, changes: { status?: string; action?: string }): ScenarioEvent => {
    // Versions within a second would have no order.
    modifiedAt = Math.max(inSeconds(now), modifiedAt + 1);
    Object.assign(appointment, changes, { modified_at: modifiedAt });
    const { action, ...data } = appointment;
    if (event === 'appointment.statuschange') {
      const tags = [random.pick(['walk-in', 'follow-up', 'VIP'])];
      const meta = sometimes(random, { ...partners, custom_attributes: { tags } });
      return { event, data: { ...data, ...meta } };
    }
    const results = { workflow_data: { [assessment]: `result-${assessment}` } };
    return {
      event,
      data: {
        ...data,
        ...partners,
        action,
        ...sometimes(random, { custom_attributes: { label: [random.pick(['new', 'returning'])] } }),
        sa_ids: [assessment],
        ...(event === 'appointment.assessments.taken' ? sometimes(random, results) : {}),
      },
    };
  };
}
