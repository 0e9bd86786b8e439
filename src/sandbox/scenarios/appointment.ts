import {
  aboutVisit,
  appointmentId,
  type Clinic,
  newVisit,
  partnerId,
  partnerPartiesOf,
  type Visit,
} from '../clinic.ts';
import type { Random } from '../random.ts';
import { consentFormScenario } from './consent-form.ts';
import { doctorJoined } from './notices.ts';
import { prescriptionScenario } from './prescription.ts';
import { receiptScenario } from './receipt.ts';
import { reviewRequestScenario } from './review-request.ts';
import { inSeconds, interleaved, type Scenario, type ScenarioEvent, sometimes } from './scenario.ts';

/**
 * An appointment with all that it leads to: it is booked, then cancelled, missed or rescheduled, or the patient comes. A
 * reschedule makes a new appointment of the same patient and doctor.
 *
 * @param earlier the appointment that this one replaces
 */
export function* appointmentScenario(
  random: Random,
  clinic: Clinic,
  bookedAt: number,
  earlier?: Visit,
  visit: Visit = newVisit(random, clinic),
): Scenario {
  const version = versionsOf(random, visit, bookedAt);
  const status = random.chance(0.1) ? 'RV' : 'BK';
  const links = earlier && { prev_aids: [earlier.appointmentId] };
  let now = yield version('appointment.created', bookedAt, { status, action: 'created' }, links);
  while (random.chance(0.4)) now = yield version('appointment.updated', now, { action: 'updated' });
  if (random.chance(0.5)) now = yield { event: 'appointment.reminder_instant', data: aboutVisit(visit) };
  if (random.chance(0.12)) {
    // Paid in advance.
    if (random.chance(0.3))
      now = yield* interleaved(random, now, [receiptScenario(random, clinic, now, visit)]);
    const next = { ...visit, appointmentId: appointmentId(random) };
    const status = random.pick(['RE', 'RES', 'RED']);
    const links = sometimes(random, { next_aid: next.appointmentId });
    now = yield version('appointment.statuschange', now, { status }, links);
    yield* appointmentScenario(random, clinic, now, visit, next);
    return;
  }
  if (random.chance(0.2)) {
    const status = random.pick(['CN', 'CND', 'CNS', 'PC', 'PNR', 'NS', 'NSD', 'NSS']);
    yield version('appointment.statuschange', now, { status });
    return;
  }
  if (random.chance(0.4))
    now = yield version('appointment.statuschange', now, { status: random.pick(['CK', 'IN', 'PA']) });
  if (random.chance(0.4)) now = yield version('appointment.assessments.taken', now, {});
  now = yield version('appointment.statuschange', now, { status: 'OG' });
  if (random.chance(0.3)) now = yield doctorJoined(random, visit);
  if (random.chance(0.03)) {
    yield version('appointment.statuschange', now, { status: 'AB' });
    return;
  }
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

/** @param more fields of each version */
export function versionsOf(random: Random, visit: Visit, bookedAt: number, more: object = {}) {
  const partners = { partner_appointment_id: partnerId(visit.appointmentId), ...partnerPartiesOf(visit) };
  const assessment = random.text(8, '0123456789abcdef');
  const appointment: Record<string, unknown> = {
    ...aboutVisit(visit),
    created_at: inSeconds(bookedAt),
    partner_meta: { source: random.pick(['app', 'desk', 'phone']) },
    ...more,
  };
  let modifiedAt = 0;

  // Links are in one version alone.
  return (
    event: string,
    now: number,
    changes: { status?: string; action?: string },
    links: Record<string, unknown> = {},
  ): ScenarioEvent => {
    // Versions within a second would have no order.
    modifiedAt = Math.max(inSeconds(now), modifiedAt + 1);
    Object.assign(appointment, changes, { modified_at: modifiedAt });
    const { action, ...data } = appointment;
    if (event === 'appointment.statuschange') {
      const tags = [random.pick(['walk-in', 'follow-up', 'VIP'])];
      const meta = sometimes(random, { ...partners, custom_attributes: { tags } });
      return { event, data: { ...data, ...meta, ...links } };
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
        ...links,
      },
    };
  };
}
